() => {
  const page = new Blob([document.querySelector("#results iframe").srcdoc], { type: "text/html" });
  Object.assign(document.createElement("a"), { href: URL.createObjectURL(page), download: "report.html" }).click();
}
