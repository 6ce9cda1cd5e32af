// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"time"
)

// Identity is who asks.
type Identity struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
	// RegistryOnly says that the token opens nothing but the registry.
	RegistryOnly bool
	// OwnToken says that the registry's own list has the token, and no API knows of it.
	OwnToken bool
}

// ServiceAccount is the identity of a service account, as the API server would find it by a token.
func ServiceAccount(namespace, name string) Identity {
	return Identity{Name: "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
}

// Anonymous is who shows no token.
func Anonymous() Identity {
	return Identity{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}
}

func (i Identity) anonymous() bool { return i.Name == Anonymous().Name }

// The resources of the registry, which are resources of the API group content.yuba.dev.
const (
	ResourceModules   = "modules"
	ResourceProviders = "providers"
	// ResourceSigningKeys are the keys whose signatures of providers a namespace accepts.
	ResourceSigningKeys = "signingkeys"
	ResourceMirror      = "mirror"
	// ResourceRegistry is the description of the registry.
	ResourceRegistry = "registry"
)

// Action is what somebody wants to do: a verb of the API on a resource, for one namespace of the
// registry (of mirrored providers: a host), or with an empty Name for all. With a Group it is about an
// object of the API with that Namespace and Name.
type Action struct {
	Verb, Resource, Name string
	Group, Namespace     string
}

// Audience is that of tokens which are for the registry only: the API server refuses them, so a stolen
// one opens nothing else.
const Audience = "registry.yuba.dev"

// ErrUnknownToken says that nobody has a token.
var ErrUnknownToken = errors.New("the token is not valid, or no longer")

// ExpiredError is an [ErrUnknownToken] of a token that has expired.
type ExpiredError struct{ At time.Time }

func (e *ExpiredError) Error() string { return "the token expired at " + e.At.Format(time.RFC3339) }

// Unwrap returns [ErrUnknownToken].
func (e *ExpiredError) Unwrap() error { return ErrUnknownToken }

// Access decides who asks, and what they may do. It is safe for concurrent use.
type Access interface {
	// Identify returns who has a bearer token, or an error that wraps [ErrUnknownToken].
	Identify(ctx context.Context, token string) (Identity, error)
	// May reports whether somebody may do something, and why, or why not. An error means that it is
	// unknown.
	May(ctx context.Context, who Identity, what Action) (allowed bool, reason string, err error)
}
