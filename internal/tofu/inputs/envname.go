// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"unicode"
)

// refusedNames are environment variables that Yuba sets itself, or that would change which program
// runs, on what and with which arguments.
var refusedNames = map[string]string{
	"TF_WORKSPACE":       "use spec.workspace",
	"TF_DATA_DIR":        "Yuba sets it",
	"TF_CLI_CONFIG_FILE": "Yuba sets it",
	"TERRAFORM_CONFIG":   "Yuba sets it",
	"HOME":               "Yuba sets it",
	"TMPDIR":             "Yuba sets it",
	"PATH":               "Yuba sets it",
}

var refusedPrefixes = map[string]string{
	"TF_CLI_ARGS": "arguments come from the fields of the object",
	"TF_LOG":      "tofu's debug log shows secrets",
	"LD_":         "it would change the programs that run",
}

// checkEnvName returns why a stack may not set the variable, or "".
func checkEnvName(name string) string {
	if why := refusedNames[name]; why != "" {
		return "the environment variable " + name + " cannot be set: " + why
	}
	for prefix, why := range refusedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return "the environment variable " + name + " cannot be set: " + why
		}
	}
	return ""
}

// isEnvName reports whether the name is valid for an environment and a shell. Like Kubernetes, it
// allows dots and dashes.
func isEnvName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r < unicode.MaxASCII && unicode.IsLetter(r)
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-.", r)) {
			return false
		}
	}
	return name != ""
}
