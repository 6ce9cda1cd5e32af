// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"

	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/credential/userpass"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
)

// secrets are the secrets engines, methods the auth methods, beside those of the core itself.
var (
	secrets = map[string]logical.Factory{"kv": kv.Factory}
	methods = map[string]logical.Factory{"approle": approle.Factory, "userpass": userpass.Factory, "kubernetes": kubernetes.Factory}
)

// registry tells Vault's catalog of plugins what is linked.
type registry map[consts.PluginType]map[string]logical.Factory

var builtin = registry{consts.PluginTypeSecrets: secrets, consts.PluginTypeCredential: methods}

// Contains implements plugincatalog.BuiltinRegistry.
func (r registry) Contains(name string, kind consts.PluginType) bool {
	_, ok := r[kind][name]
	return ok
}

// Get implements plugincatalog.BuiltinRegistry.
func (r registry) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	factory, ok := r[kind][name]
	return func() (any, error) { return factory, nil }, ok
}

// Keys implements plugincatalog.BuiltinRegistry.
func (r registry) Keys(kind consts.PluginType) []string { return slices.Sorted(maps.Keys(r[kind])) }

// DeprecationStatus implements plugincatalog.BuiltinRegistry.
func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

// IsBuiltinEntPlugin implements plugincatalog.BuiltinRegistry.
func (r registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
