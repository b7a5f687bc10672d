"""A solver of the package's own."""

from inspect_ai.solver import solver


@solver
def asked_twice():
    """The task's own words before the question, and its own words after the first answer."""

    async def solve(state, generate):
        state.user_prompt.text = f"Be a pilot.\n{state.user_prompt.text}"
        state = await generate(state)
        state.metadata["first"] = state.output.completion
        return await generate(state)

    return solve
