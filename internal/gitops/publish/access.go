// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Access describes how to access a registry.
type Access struct {
	// Credentials are USER:PASSWORD, or a bearer token. The default is docker's configuration: the
	// credentials of "docker login", and credential helpers.
	Credentials string
	// Insecure allows HTTP, and untrusted certificates.
	Insecure bool
	// UserAgent is the program's name.
	UserAgent string
}

func (a Access) names() []name.Option {
	if a.Insecure {
		return []name.Option{name.Insecure}
	}
	return nil
}

func (a Access) remote(ctx context.Context) ([]remote.Option, error) {
	options := []remote.Option{remote.WithContext(ctx), remote.WithUserAgent(a.UserAgent)}
	if a.Credentials == "" {
		options = append(options, remote.WithAuthFromKeychain(authn.DefaultKeychain))
	} else {
		auth, err := oci.GetAuthFromCredentials(a.Credentials)
		if err != nil {
			return nil, errors.New("the credentials of the registry are invalid; expected USER:PASSWORD or a token")
		}
		options = append(options, remote.WithAuth(auth))
	}
	if a.Insecure {
		lax := remote.DefaultTransport.(*http.Transport).Clone()
		lax.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the user asked for it
		options = append(options, remote.WithTransport(lax))
	}
	return options, nil
}

// RefError is an invalid reference.
type RefError struct{ Ref, Problem string }

func (e *RefError) Error() string {
	return fmt.Sprintf("%q is not the address of an artifact: %s", e.Ref, e.Problem)
}

// parse parses oci://HOST/REPOSITORY with a tag or a digest; the default is the tag latest.
func (a Access) parse(ref string) (name.Reference, error) {
	address, ok := strings.CutPrefix(ref, oci.OCIRepositoryPrefix)
	if !ok {
		return nil, &RefError{ref, "it must begin with oci://, as in oci://registry.example.com/team/app:1.0.0"}
	}
	if strings.Contains(address, "//") || strings.Contains(strings.SplitN(address, "/", 2)[0], "@") {
		// Do not show a password.
		return nil, &RefError{"oci://…", "it must not contain credentials"}
	}
	parsed, err := name.ParseReference(address, a.names()...)
	if err != nil {
		// The error of a tag is more precise.
		if _, why := name.NewTag(address, a.names()...); why != nil && !strings.Contains(address, "@") {
			err = why
		}
		return nil, &RefError{ref, err.Error()}
	}
	return parsed, nil
}

// parseTag parses a reference that must name a tag.
func (a Access) parseTag(ref string) (name.Tag, error) {
	parsed, err := a.parse(ref)
	if err != nil {
		return name.Tag{}, err
	}
	tag, ok := parsed.(name.Tag)
	if !ok {
		return name.Tag{}, &RefError{ref, "the digest depends on the content and cannot be chosen; name a tag"}
	}
	return tag, nil
}

// explain adds advice to errors of a registry.
func explain(action string, ref name.Reference, err error) error {
	var answer *transport.Error
	host := ref.Context().RegistryStr()
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%s %s: the registry refuses these credentials (%d). Log in with \"docker login %s\", or name a file with USER:PASSWORD in --creds-file: %w",
			action, ref.Name(), answer.StatusCode, host, err)
	case IsNotFound(err):
		return &missingError{fmt.Errorf("%s %s: the artifact does not exist. List existing ones:\n    yuba list artifacts oci://%s", action, ref.Name(), ref.Context().Name())}
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s %s: %s uses HTTP without TLS; --insecure-registry allows that: %w", action, ref.Name(), host, err)
	}
	return fmt.Errorf("%s %s: %w", action, ref.Name(), err)
}

// IsNotFound reports whether an artifact or a repository does not exist.
func IsNotFound(err error) bool {
	var missing *missingError
	var answer *transport.Error
	return errors.As(err, &missing) || errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// missingError marks an error for IsNotFound.
type missingError struct{ error }

func (e *missingError) Unwrap() error { return e.error }
