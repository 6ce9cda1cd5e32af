// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// BackendKind says who stores a stack's state.
type BackendKind string

// The kinds of backends.
const (
	// BackendManaged stores the state in a file that Yuba manages.
	BackendManaged BackendKind = "managed"
	// BackendOwn is a custom backend of the stack or its module.
	BackendOwn BackendKind = "own"
)

// ManagedBackend is the override file of stacks with a managed state. It has no parameters, so
// saved plans contain none that could change.
const ManagedBackend = "terraform {\n  backend \"local\" {}\n}\n"

// BackendConfig describes where a stack's state is.
type BackendConfig struct {
	Kind BackendKind
	// HCL is the content of the override file; empty for none.
	HCL string
	// Env is the environment that the backend needs: the token of a cloud.
	Env []EnvVar
}

// Backend returns a stack's backend configuration.
func Backend(obj *infrav1.Terraform, in *Inputs) (BackendConfig, error) {
	config := obj.Spec.BackendConfig
	switch {
	case obj.Spec.Cloud != nil:
		return cloud(obj.Spec.Cloud, in)
	case config != nil && config.Disable:
		return BackendConfig{Kind: BackendOwn}, nil
	case config != nil && config.CustomConfiguration != "":
		return BackendConfig{Kind: BackendOwn, HCL: "terraform {\n" + strings.TrimRight(config.CustomConfiguration, "\n") + "\n}\n"}, nil
	case config != nil && config.ConfigPath != "":
		return BackendConfig{Kind: BackendOwn, HCL: elsewhere(obj)}, nil
	case len(in.Settings) > 0:
		return BackendConfig{}, errors.New("spec.backendConfigsFrom completes a custom backend, and this stack does not have one: " +
			"configure it in spec.backendConfig.customConfiguration, or in the module with spec.backendConfig.disable")
	}
	return BackendConfig{Kind: BackendManaged, HCL: ManagedBackend}, nil
}

// Override returns the content of the override file of a stack's backend, which needs no inputs; empty
// for none, and if the backend cannot be configured.
func Override(obj *infrav1.Terraform) string {
	config, _ := Backend(obj, &Inputs{}) //nolint:errcheck // runs report it
	return config.HCL
}

// upstreamHome is the home directory of runs in tofu-controller's Pods.
const upstreamHome = "/home/runner/"

// elsewhere configures a state in the cluster of a kubeconfig, in the Secret that it would have
// here.
func elsewhere(obj *infrav1.Terraform) string {
	config := obj.Spec.BackendConfig
	path := config.ConfigPath
	if rest, ok := strings.CutPrefix(path, upstreamHome); ok {
		path = "~/" + rest
	}
	var b strings.Builder
	fmt.Fprintf(&b, "terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %s\n    namespace     = %s\n    config_path   = %s\n",
		quoteHCL(obj.StateSuffix()), quoteHCL(obj.Namespace), quoteHCL(path))
	if len(config.Labels) > 0 {
		b.WriteString("    labels = {\n")
		for _, name := range slices.Sorted(maps.Keys(config.Labels)) {
			fmt.Fprintf(&b, "      %s = %s\n", quoteHCL(name), quoteHCL(config.Labels[name]))
		}
		b.WriteString("    }\n")
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// defaultCloud is the tool's default host.
const defaultCloud = "app.terraform.io"

// cloud returns the cloud block. It does not contain the token: every program of the run can read
// files of the working directory, and plans contain the block.
func cloud(spec *infrav1.CloudSpec, in *Inputs) (BackendConfig, error) {
	if spec.Organization == "" {
		return BackendConfig{}, errors.New("spec.cloud.organization is missing")
	}
	if spec.Workspaces == nil || spec.Workspaces.Name == "" && len(spec.Workspaces.Tags) == 0 {
		return BackendConfig{}, errors.New("spec.cloud.workspaces must have a name or tags")
	}
	config := BackendConfig{Kind: BackendOwn}
	var b strings.Builder
	fmt.Fprintf(&b, "terraform {\n  cloud {\n    organization = %s\n", quoteHCL(spec.Organization))
	if spec.Hostname != "" {
		fmt.Fprintf(&b, "    hostname     = %s\n", quoteHCL(spec.Hostname))
	}
	b.WriteString("    workspaces {\n")
	if spec.Workspaces.Name != "" {
		fmt.Fprintf(&b, "      name = %s\n", quoteHCL(spec.Workspaces.Name))
	}
	if len(spec.Workspaces.Tags) > 0 {
		tags := make([]string, len(spec.Workspaces.Tags))
		for i, tag := range spec.Workspaces.Tags {
			tags[i] = quoteHCL(tag)
		}
		fmt.Fprintf(&b, "      tags = [%s]\n", strings.Join(tags, ", "))
	}
	b.WriteString("    }\n  }\n}\n")
	config.HCL = b.String()
	if spec.Token == "" {
		return config, nil
	}
	host := spec.Hostname
	for _, e := range in.Env {
		if host == "" && e.Name == "TF_CLOUD_HOSTNAME" {
			host = e.Value.Reveal()
		}
	}
	name, err := tokenName(cmp.Or(host, defaultCloud))
	if err != nil {
		return BackendConfig{}, err
	}
	config.Env = []EnvVar{{Name: name, Value: NewValue(spec.Token), Secret: true}}
	return config, nil
}

// tokenName returns the name of the environment variable with a host's token.
func tokenName(host string) (string, error) {
	for _, c := range host {
		if c >= 0x80 || c <= ' ' || c == '=' || c == '_' {
			return "", fmt.Errorf("spec.cloud.hostname: %q is not a valid host name; write a name with other letters than a to z in its xn-- form", host)
		}
	}
	return "TF_TOKEN_" + strings.NewReplacer("-", "__", ".", "_").Replace(strings.ToLower(host)), nil
}
