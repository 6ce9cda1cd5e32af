// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/spf13/pflag"

	server "github.com/yuba-dev/yuba/internal/app"
)

// addWebFlags adds the flags of the web page. Those of claims are called as kube-apiserver's.
func addWebFlags(flags *pflag.FlagSet, o *server.WebOptions) {
	flags.StringVar(&o.URL, "web-url", "", "the address under which people reach the web page, such as https://yuba.example.com (default where it listens)")
	flags.DurationVar(&o.SessionLifetime, "web-session", 7*24*time.Hour, "how long a login to the web page lasts; one with an identity provider at most 12h")
	flags.BoolVar(&o.Anonymous, "web-anonymous", false, "let people read the web page without a login, with the rights that user yuba:web-anonymous has")
	flags.StringVar(&o.OIDC.Issuer, "web-oidc-issuer", "", "the URL of an OIDC provider that logs people in to the web page, such as https://accounts.example.com (default none)")
	flags.StringVar(&o.OIDC.ClientID, "web-oidc-client-id", "", "the client ID that the provider gave this server; its redirect URI is WEB-URL/login/oidc/callback")
	flags.StringVar(&o.OIDC.ClientSecretFile, "web-oidc-client-secret-file", "", "a file with the client secret (default none: a public client, with PKCE)")
	flags.StringSliceVar(&o.OIDC.Scopes, "web-oidc-scopes", []string{"openid", "email", "profile"}, "a scope to ask the provider for; can be repeated")
	flags.StringVar(&o.OIDC.Claims.Username, "web-oidc-username-claim", "sub", "the claim with the user's name")
	flags.StringVar(&o.OIDC.Claims.UsernamePrefix, "web-oidc-username-prefix", "", "what precedes it in the name of the Kubernetes user, or \"-\" for nothing (default ISSUER# unless the claim is email)")
	flags.StringVar(&o.OIDC.Claims.Groups, "web-oidc-groups-claim", "", "the claim with the user's groups, a string or a list of strings (default none)")
	flags.StringVar(&o.OIDC.Claims.GroupsPrefix, "web-oidc-groups-prefix", "", "what precedes each in the groups of the Kubernetes user")
	flags.StringVar(&o.OIDC.CAFile, "web-oidc-ca-file", "", "a file with the authorities of the provider's certificate (default the system's)")
}
