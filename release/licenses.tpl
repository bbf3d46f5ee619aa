{{range .}}{{.Name}},{{.LicenseName}}
{{end}}
