SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  tryItOutEnabled: true,
  // By default it shows a badge that a public server draws.
  validatorUrl: null,
});
