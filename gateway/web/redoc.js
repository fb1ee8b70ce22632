// The system's fonts: ReDoc's own would come from a font server.
const fontFamily = "system-ui, sans-serif";
const options = { theme: { typography: { fontFamily, headings: { fontFamily } } } };
Redoc.init("openapi.json", options, document.getElementById("redoc"));
