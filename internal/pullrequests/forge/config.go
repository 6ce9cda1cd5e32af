// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"crypto/x509"
	"net/url"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Secret is a credential. Printed, it shows nothing.
type Secret string

func (Secret) String() string { return "(sensitive)" }

// GoString prevents that %#v shows the secret.
func (Secret) GoString() string { return "(sensitive)" }

// MarshalText prevents that JSON shows the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("(sensitive)"), nil }

// Credentials authorize requests: a token, or an App of GitHub.
type Credentials struct {
	Token Secret
	// User is the account of the token where both are required: app passwords and API tokens of
	// Bitbucket. At GitHub and Gitea it is for tokens of jobs, which may not ask for their account.
	User string
	App  *App
}

// App is a GitHub App.
type App struct {
	// ID is the App's id or client id. Installation is found by the repository if it is 0.
	ID           string
	Installation int64
	// Key is the private key in PEM format.
	Key Secret
}

// Config says which repository to connect to, and how.
type Config struct {
	Kind Kind
	// Repository is the address of the repository's page, or one of git: https, ssh, or git@HOST:PATH.
	Repository string
	// API is the base URL of the API; empty means the usual one at the repository's host.
	API         string
	Credentials Credentials
	// Roots are trusted in addition to the system's. Proxy replaces that of the environment.
	Roots *x509.CertPool
	Proxy *url.URL
	// Gate limits connections to public addresses, if it is not nil. Metadata services are always refused.
	Gate *outbound.Gate
	// Timeout limits each request; 0 means 30 seconds.
	Timeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}
