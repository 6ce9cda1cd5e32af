// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Yuba is the type of the backend that Yuba itself is.
const Yuba = "yuba"

// Preset is a backend that a stack can have.
type Preset struct {
	Type, Short string
	// Required are settings without which the backend cannot work: "A|B" is one of two. Credentials are
	// for people: the names of settings that belong into a Secret.
	Required, Credentials []string
	// Blocks are settings "BLOCK.NAME" that the tool takes as a block, not as an object.
	Blocks []string
}

// Presets are all backends.
var Presets = []Preset{
	{Type: Yuba, Short: "Yuba's own store, with versions and rollback"},
	{Type: "s3", Short: "Amazon S3 and compatible stores, locked by a file or a DynamoDB table", Required: []string{"bucket", "key"}, Credentials: []string{"access_key", "secret_key", "token", "sse_customer_key"}},
	{Type: "gcs", Short: "Google Cloud Storage", Required: []string{"bucket"}, Credentials: []string{"credentials", "access_token", "encryption_key"}},
	{Type: "azurerm", Short: "Azure Blob Storage", Required: []string{"storage_account_name", "container_name", "key"}, Credentials: []string{"access_key", "sas_token", "client_secret", "client_certificate_password"}},
	{Type: "http", Short: "a server with the HTTP protocol, such as GitLab", Required: []string{"address"}, Credentials: []string{"password", "client_private_key_pem"}},
	{Type: "pg", Short: "PostgreSQL", Credentials: []string{"conn_str"}},
	{Type: "kubernetes", Short: "a Secret in a Kubernetes cluster", Required: []string{"secret_suffix"}, Credentials: []string{"token", "password", "client_key"}},
	{Type: "remote", Short: "Terraform Cloud's protocol, without a cloud block", Required: []string{"organization", "workspaces.name|workspaces.prefix"}, Credentials: []string{"token"}, Blocks: []string{"workspaces"}},
	{Type: "cloud", Short: "Terraform Cloud and compatible services", Required: []string{"organization", "workspaces.name|workspaces.tags"}, Credentials: []string{"token"}},
}

// Find returns the preset of a type.
func Find(kind string) (Preset, error) {
	var known []string
	for _, p := range Presets {
		if p.Type == kind {
			return p, nil
		}
		known = append(known, p.Type)
	}
	return Preset{}, fmt.Errorf("no backend is named %q; choose one of %s", kind, strings.Join(known, ", "))
}

// Configure returns the backend of a spec, without its location. from are the sources of further
// settings.
func (p Preset) Configure(settings map[string]string, from []infrav1.BackendConfigsReference) (*infrav1.BackendStatus, error) {
	for _, required := range p.Required {
		names := strings.Split(required, "|")
		if len(from) > 0 || slices.ContainsFunc(names, func(name string) bool { return settings[name] != "" }) {
			continue
		}
		advice := ", or name the ConfigMap or Secret that has it with --settings-from"
		if p.Type == "cloud" {
			advice = ""
		}
		return nil, fmt.Errorf("the backend %s needs the setting %s: add --set %s=VALUE%s", p.Type, strings.Join(names, " or "), names[0], advice)
	}
	for name := range settings {
		if slices.Contains(p.Credentials, name) {
			return nil, fmt.Errorf("the setting %s is a credential, and everybody who may read the stack could read it. Put it into a Secret, and name that:\n"+
				"    yuba kubectl create secret generic NAME --from-literal=%s=…\n    --settings-from Secret/NAME", name, name)
		}
	}
	switch {
	case p.Type == Yuba && len(settings)+len(from) > 0:
		return nil, fmt.Errorf("the backend %s has no settings", Yuba)
	case p.Type == Yuba:
		return &infrav1.BackendStatus{}, nil
	case p.Type == "cloud":
		return cloud(settings, from)
	case p.Type == "kubernetes":
		settings = withoutKubeconfig(settings)
	}
	return &infrav1.BackendStatus{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: p.render(settings)}, BackendConfigsFrom: from}, nil
}

// withoutKubeconfig adds the name of a file that does not exist: without any, tofu refuses the settings
// host and token.
func withoutKubeconfig(settings map[string]string) map[string]string {
	for _, name := range []string{"config_path", "config_paths", "in_cluster_config"} {
		if settings[name] != "" {
			return settings
		}
	}
	settings = maps.Clone(settings)
	settings["config_path"] = "none"
	return settings
}

func cloud(settings map[string]string, from []infrav1.BackendConfigsReference) (*infrav1.BackendStatus, error) {
	if len(from) > 0 {
		return nil, fmt.Errorf("a cloud block takes no settings from Secrets: set the token as TF_TOKEN_… in spec.envFrom")
	}
	for name := range settings {
		if !slices.Contains([]string{"organization", "hostname", "workspaces.name", "workspaces.tags"}, name) {
			return nil, fmt.Errorf("the cloud block has no setting %s here; it has organization, hostname, workspaces.name and workspaces.tags", name)
		}
	}
	workspaces := &infrav1.CloudWorkspacesSpec{Name: settings["workspaces.name"]}
	if tags := settings["workspaces.tags"]; tags != "" {
		workspaces.Tags = strings.Split(tags, ",")
	}
	return &infrav1.BackendStatus{Cloud: &infrav1.CloudSpec{Organization: settings["organization"], Hostname: settings["hostname"], Workspaces: workspaces}}, nil
}

// render writes the block. Texts suffice: the tool converts them.
func (p Preset) render(settings map[string]string) string {
	file := hclwrite.NewEmptyFile()
	body := file.Body().AppendNewBlock("backend", []string{p.Type}).Body()
	nested := map[string]map[string]cty.Value{}
	for _, name := range sortedNames(settings) {
		outer, inner, deep := strings.Cut(name, ".")
		if !deep {
			body.SetAttributeValue(name, cty.StringVal(settings[name]))
			continue
		}
		if nested[outer] == nil {
			nested[outer] = map[string]cty.Value{}
		}
		nested[outer][inner] = cty.StringVal(settings[name])
	}
	for _, outer := range sortedNames(nested) {
		if !slices.Contains(p.Blocks, outer) {
			body.SetAttributeValue(outer, cty.ObjectVal(nested[outer]))
			continue
		}
		block := body.AppendNewBlock(outer, nil).Body()
		for _, inner := range sortedNames(nested[outer]) {
			block.SetAttributeValue(inner, nested[outer][inner])
		}
	}
	return string(file.Bytes())
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
