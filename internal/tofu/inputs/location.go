// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// ManagedLocation is the location of states that Yuba keeps.
const ManagedLocation = infrav1.ManagedLocation

// places lists, by backend, the settings that say where a state is. The others are credentials, locks
// and transport: they may change while the state stays.
var places = map[string][]string{
	"s3":         {"bucket", "key", "workspace_key_prefix", "endpoint", "endpoints.s3"},
	"gcs":        {"bucket", "prefix"},
	"azurerm":    {"storage_account_name", "container_name", "key"},
	"http":       {"address"},
	"pg":         {"conn_str", "schema_name", "table_name"},
	"kubernetes": {"namespace", "secret_suffix", "host", "config_path", "config_context"},
	"local":      {"path", "workspace_dir"},
	"remote":     {"hostname", "organization", "workspaces.name", "workspaces.prefix"},
	"cloud":      {"hostname", "organization", "workspaces.name", "workspaces.project", "workspaces.tags"},
	"consul":     {"address", "path"},
	"cos":        {"bucket", "prefix", "key"},
	"oss":        {"bucket", "prefix", "key", "endpoint"},
}

// Location says where a backend keeps its state, such as "s3 bucket=states key=network.tfstate":
// without credentials, and equal for two configurations of one place. Values of Secrets are digests. So are values that
// are not understood, with the key of the digest; a new password changes these, too. Compare with [SamePlace].
func (b BackendConfig) Location(settings []Setting, digest Digest) string {
	if b.Kind == BackendManaged {
		return ManagedLocation
	}
	kind, values := settingsIn(b.HCL)
	for _, s := range settings {
		value := s.Value.Reveal()
		if s.Secret && s.Name != "conn_str" {
			value = hidden(value)
		}
		values[s.Name] = value
	}
	names := places[kind]
	if kind == "" { // the module names it: any of these may matter
		kind = "the module's own backend"
		for _, list := range places {
			names = append(names, list...)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if names == nil {
		return fmt.Sprintf("%s %.8x", kind, sha256.Sum256([]byte(b.HCL)))
	}
	text := kind
	for _, name := range names {
		if value := values[name]; value != "" {
			text += " " + name + "=" + digest.withDigest(name, value, bare(name, value))
		}
	}
	return text
}

// settingsIn reads the backend's type and its settings from an override file; those of blocks and
// objects as "NAME.KEY".
func settingsIn(text string) (kind string, values map[string]string) {
	values = map[string]string{}
	file, diags := hclsyntax.ParseConfig([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return "", values
	}
	for _, outer := range file.Body.(*hclsyntax.Body).Blocks {
		for _, block := range outer.Body.Blocks {
			switch {
			case block.Type == "cloud":
				kind = "cloud"
			case block.Type == "backend" && len(block.Labels) == 1:
				kind = block.Labels[0]
			default:
				continue
			}
			take(values, "", block.Body)
			for _, inner := range block.Body.Blocks {
				take(values, inner.Type+".", inner.Body)
			}
		}
	}
	return kind, values
}

func take(values map[string]string, prefix string, body *hclsyntax.Body) {
	for name, attr := range body.Attributes {
		value, diags := attr.Expr.Value(nil)
		if diags.HasErrors() || value.IsNull() || !value.IsWhollyKnown() {
			continue
		}
		if value.Type().IsObjectType() {
			for key, inner := range value.AsValueMap() {
				values[prefix+name+"."+key] = textOf(inner)
			}
			continue
		}
		values[prefix+name] = textOf(value)
	}
}

func textOf(value cty.Value) string {
	switch {
	case value.IsNull():
		return ""
	case value.Type() == cty.String:
		return value.AsString()
	case value.Type() == cty.Bool:
		return fmt.Sprint(value.True())
	case value.Type() == cty.Number:
		return value.AsBigFloat().String()
	case value.Type().IsTupleType():
		var list []string
		for _, element := range value.AsValueSlice() {
			list = append(list, textOf(element))
		}
		return strings.Join(list, ",")
	}
	return ""
}
