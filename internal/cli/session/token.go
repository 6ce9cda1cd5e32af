// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// TokenVariable holds a bearer token. Unlike --token, other users of the machine cannot see it.
const TokenVariable = "YUBA_TOKEN"

type kubeconfig = clientcmd.ClientConfig

// withToken is a kubeconfig whose credentials are replaced by a given token.
type withToken struct {
	kubeconfig
	app *App
}

// ClientConfig implements clientcmd.ClientConfig.
func (c withToken) ClientConfig() (*rest.Config, error) {
	config, err := c.kubeconfig.ClientConfig()
	if err != nil {
		return nil, err
	}
	token, file, err := c.app.token()
	if err != nil {
		return nil, err
	}
	if given := c.app.overrides.AuthInfo.Token != "" || file != ""; given && !rest.IsConfigTransportTLS(*config) {
		return nil, ui.Exitf(ui.ExitFailure, "refusing to send the token to %s, which does not use TLS", config.Host)
	}
	UseToken(config, token, file)
	return config, nil
}

// token is the given bearer token, and the file from which it is renewed, if any.
func (a *App) token() (token, file string, err error) {
	switch {
	case a.overrides.AuthInfo.Token != "" && a.tokenFile != "":
		return "", "", ui.Exitf(ui.ExitUsage, "--token and --token-file are both given: want one of them")
	case a.overrides.AuthInfo.Token != "":
		return a.overrides.AuthInfo.Token, "", nil
	case a.tokenFile != "":
		data, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return "", "", fmt.Errorf("read the token of --token-file: %w", err)
		}
		if token = strings.TrimSpace(string(data)); token == "" {
			return "", "", ui.Exitf(ui.ExitFailure, "read the token of --token-file: %s is empty", a.tokenFile)
		}
		return token, a.tokenFile, nil
	}
	return strings.TrimSpace(os.Getenv(TokenVariable)), "", nil
}

// UseToken makes the token the only credential, because servers prefer a client certificate. As
// with kubectl, a server without TLS gets no token.
func UseToken(config *rest.Config, token, file string) {
	if token == "" || !rest.IsConfigTransportTLS(*config) {
		return
	}
	tls := &config.TLSClientConfig
	tls.CertFile, tls.CertData, tls.KeyFile, tls.KeyData = "", nil, "", nil
	config.Username, config.Password, config.ExecProvider, config.AuthProvider, config.AuthConfigPersister = "", "", nil, nil, nil
	config.BearerToken, config.BearerTokenFile = token, file
}
