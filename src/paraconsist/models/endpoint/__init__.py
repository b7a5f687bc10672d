"""Models behind an OpenAI-compatible endpoint: what is sent, what is read of the answers, what is paid for.

Nothing here needs torch; httpx is imported where a connection is opened. `paraconsist.running.endpoint` runs bucket
sets through this room.
"""

from __future__ import annotations
