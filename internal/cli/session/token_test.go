// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const administrator = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "SERVER"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
current-context: c
`

// A server that is shown a certificate as well takes the caller for its owner: a token beside the kubeconfig of an
// administrator gave all rights.
func TestATokenIsTheOnlyCredential(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tls := file("kubeconfig", strings.ReplaceAll(administrator, "SERVER", "https://c"))
	clear := file("clear", strings.ReplaceAll(administrator, "SERVER", "http://c"))
	token := file("token", "from-file\n")
	for sentence, test := range map[string]struct {
		kubeconfig, flag, file, env string
		token, tokenFile, problem   string
		certificate                 bool
	}{
		"none: the kubeconfig's":               {kubeconfig: tls, certificate: true},
		"of the flag":                          {kubeconfig: tls, flag: "from-flag", token: "from-flag"},
		"of a file":                            {kubeconfig: tls, file: token, token: "from-file", tokenFile: token},
		"of the environment":                   {kubeconfig: tls, env: "from-env\n", token: "from-env"},
		"the flag before the environment":      {kubeconfig: tls, flag: "from-flag", env: "from-env", token: "from-flag"},
		"the file before the environment":      {kubeconfig: tls, file: token, env: "from-env", token: "from-file", tokenFile: token},
		"two flags":                            {kubeconfig: tls, flag: "from-flag", file: token, problem: "--token and --token-file are both given"},
		"a file that is not there":             {kubeconfig: tls, file: filepath.Join(dir, "none"), problem: "read the token of --token-file"},
		"a file that is empty":                 {kubeconfig: tls, file: file("empty", "\n"), problem: "is empty"},
		"nothing is sent to a server in clear": {kubeconfig: clear, env: "from-env"},
		"a flag for a server in clear":         {kubeconfig: clear, flag: "from-flag", problem: "refusing to send the token to http://c"},
		"a file for a server in clear":         {kubeconfig: clear, file: token, problem: "refusing to send the token to http://c"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Setenv(TokenVariable, test.env)
			a := &App{kubeconfig: test.kubeconfig, tokenFile: test.file}
			a.overrides.AuthInfo.Token = test.flag
			config, err := a.loader().ClientConfig()
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Fatalf("error %v, want one with %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.BearerToken != test.token || config.BearerTokenFile != test.tokenFile || (len(config.CertData) > 0) != test.certificate {
				t.Errorf("token %q of file %q, certificate %q", config.BearerToken, config.BearerTokenFile, config.CertData)
			}
		})
	}
}
