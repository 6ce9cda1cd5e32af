// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// meanings are the errors of OAuth 2 and OpenID Connect that have one cause, and what to do about it.
var meanings = map[string]string{
	"access_denied":           "it does not let you in here, or you cancelled",
	"login_required":          "you are not logged in there",
	"invalid_scope":           "it does not know a scope of --web-oidc-scopes",
	"invalid_client":          "it does not accept the client ID or secret of this server. See --web-oidc-client-id and --web-oidc-client-secret-file",
	"unauthorized_client":     "it does not let this server log people in. Allow the authorization code grant for the client",
	"invalid_grant":           "its code was used already or has expired. Begin again",
	"temporarily_unavailable": "it is overloaded. Try again in a minute",
	"server_error":            "it has a problem of its own. Try again in a minute",
}

// refused explains an error that the provider sent with the browser, or for a code.
func (p *Provider) refused(code, description string) *Problem {
	says := fmt.Sprintf("%s refused the login", p.Host())
	if meaning, ok := meanings[code]; ok {
		says += ": " + meaning
	} else {
		says += fmt.Sprintf(" with the error %q", cut(code))
	}
	if description != "" {
		says += fmt.Sprintf(". It says: %q", cut(description))
	}
	return &Problem{Says: says}
}

func (p *Provider) notExchanged(err error) *Problem {
	var answer *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answer):
		return &Problem{Says: p.Host() + " did not answer when asked who you are. Try again", Cause: withoutQuery(err)}
	case answer.ErrorCode != "":
		return p.refused(answer.ErrorCode, answer.ErrorDescription)
	}
	// The body may contain anything.
	return &Problem{Says: fmt.Sprintf("%s answered %s when asked who you are", p.Host(), answer.Response.Status)}
}

func (p *Provider) notVerified(err error) *Problem {
	var expired *oidc.TokenExpiredError
	if errors.As(err, &expired) {
		return &Problem{Says: "The ID token of " + p.Host() + " has expired already. The clock of this server or of the provider is wrong", Cause: err}
	}
	return &Problem{Says: "The ID token of " + p.Host() + " is not valid for this server. Its log says why", Cause: err}
}

func (p *Provider) notDiscovered(err error) *Problem {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return &Problem{Says: "The certificate of " + p.Host() + " is not trusted. --web-oidc-ca-file names authorities for it", Cause: err}
	case strings.Contains(err.Error(), "issuer URL provided to client"):
		return &Problem{Says: p.Host() + " calls itself by another URL than --web-oidc-issuer, which must be the same to the letter", Cause: err}
	}
	return &Problem{Says: p.Issuer + " does not answer as an identity provider. Try again; if it goes on, those who administer this server find the reason in its log", Cause: err}
}

// withoutQuery removes the query of an address from an error: it may contain a code.
func withoutQuery(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	return err
}

// cut makes a provider's words safe and short.
func cut(text string) string {
	text = strings.Join(strings.Fields(diagnostic.Printable(strings.ToValidUTF8(text, "?"))), " ")
	if runes := []rune(text); len(runes) > maxExplanation {
		text = string(runes[:maxExplanation]) + "…"
	}
	return text
}
