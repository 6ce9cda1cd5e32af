// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
)

// only allows one identity everything, and remembers what it asked for.
type only struct {
	name  string
	asked *string
}

func onlyFor(name string, asked *string) registry.Access { return only{name, asked} }

// Identify implements registry.Access.
func (o only) Identify(context.Context, string) (registry.Identity, error) {
	return registry.Identity{}, registry.ErrUnknownToken
}

// May implements registry.Access.
func (o only) May(_ context.Context, who registry.Identity, what registry.Action) (bool, string, error) {
	*o.asked = fmt.Sprint(what.Verb, " ", what.Resource, " ", what.Name)
	return who.Name == o.name, "", nil
}
