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

// Access is how to speak to a registry.
type Access struct {
	// Credentials are USER:PASSWORD, or a bearer token. Without them docker's configuration is
	// asked: what "docker login" stored, and credential helpers.
	Credentials string
	// Insecure allows plain HTTP, and certificates that nobody vouches for.
	Insecure bool
	// UserAgent names the program.
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
			return nil, errors.New("the credentials of the registry are not understood: want USER:PASSWORD or a token")
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

// RefError says that a reference is not one.
type RefError struct{ Ref, Problem string }

func (e *RefError) Error() string {
	return fmt.Sprintf("%q is not the address of an artifact: %s", e.Ref, e.Problem)
}

// parse reads oci://HOST/REPOSITORY, with a tag, a digest or neither; that means the tag latest.
func (a Access) parse(ref string) (name.Reference, error) {
	address, ok := strings.CutPrefix(ref, oci.OCIRepositoryPrefix)
	if !ok {
		return nil, &RefError{ref, "it must begin with oci://, as in oci://registry.example.com/team/app:1.0.0"}
	}
	if strings.Contains(address, "//") || strings.Contains(strings.SplitN(address, "/", 2)[0], "@") {
		// Whoever writes a password here must not see it in an error.
		return nil, &RefError{"oci://…", "credentials do not belong into it"}
	}
	parsed, err := name.ParseReference(address, a.names()...)
	if err != nil {
		// The first error says only that it is neither; this one says why.
		if _, why := name.NewTag(address, a.names()...); why != nil && !strings.Contains(address, "@") {
			err = why
		}
		return nil, &RefError{ref, err.Error()}
	}
	return parsed, nil
}

// parseTag is for what may only name a tag.
func (a Access) parseTag(ref string) (name.Tag, error) {
	parsed, err := a.parse(ref)
	if err != nil {
		return name.Tag{}, err
	}
	tag, ok := parsed.(name.Tag)
	if !ok {
		return name.Tag{}, &RefError{ref, "a digest follows from the content and cannot be chosen; name a tag"}
	}
	return tag, nil
}

// explain says what to do about errors of a registry.
func explain(action string, ref name.Reference, err error) error {
	var answer *transport.Error
	host := ref.Context().RegistryStr()
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%s %s: the registry does not let these credentials do that (%d). Log in with \"docker login %s\", or name a file with USER:PASSWORD by --creds-file: %w",
			action, ref.Name(), answer.StatusCode, host, err)
	case IsNotFound(err):
		return &missingError{fmt.Errorf("%s %s: the registry has no such artifact. See what it has:\n    yuba list artifacts oci://%s", action, ref.Name(), ref.Context().Name())}
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s %s: %s speaks plain HTTP; --insecure-registry allows that: %w", action, ref.Name(), host, err)
	}
	return fmt.Errorf("%s %s: %w", action, ref.Name(), err)
}

// IsNotFound says whether an error means that what was named does not exist.
func IsNotFound(err error) bool {
	var missing *missingError
	var answer *transport.Error
	return errors.As(err, &missing) || errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// missingError keeps the kind of an error whose words say enough.
type missingError struct{ error }

func (e *missingError) Unwrap() error { return e.error }
