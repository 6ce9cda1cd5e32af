// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func receiverSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var provider, secret string
	var events, resources []string
	cmd.Example = "  yuba create receiver push --type github --event ping,push --secret-ref token --resource GitRepository/infra\n" +
		"  yuba create receiver push --type generic --secret-ref token --resource OCIRepository/network --export > push.yaml"
	flags := cmd.Flags()
	flags.StringVar(&provider, "type", "", "the kind of sender: generic, generic-hmac, github, gitlab, gitea, bitbucket, dockerhub, harbor (required)")
	flags.StringSliceVar(&events, "event", nil, "accept only these events")
	flags.StringVar(&secret, "secret-ref", "", "the Secret with the token of the sender (required)")
	flags.StringSliceVar(&resources, "resource", nil, "an object to reconcile on each call, as KIND/NAME or KIND/NAME.NAMESPACE (required)")
	ui.Complete(cmd, "type", "generic", "generic-hmac", "github", "gitlab", "gitea", "bitbucket", "dockerhub", "harbor")
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if provider == "" || secret == "" || len(resources) == 0 {
			return nil, ui.UsageErrorf(cmd, "--type, --secret-ref and --resource are required")
		}
		targets, err := crossReferences(cmd, "resource", resources, receivable)
		if err != nil {
			return nil, err
		}
		spec := map[string]any{"type": provider, "resources": targets}
		setFields(spec, map[string]string{"secretRef.name": secret})
		if len(events) > 0 {
			spec["events"] = anys(events)
		}
		return spec, nil
	}
}

func providerSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var kind, address, channel, username, secret string
	cmd.Example = "  yuba create alert-provider chat --type slack --channel infra --secret-ref slack\n" +
		"  yuba create alert-provider commits --type github --address https://github.com/team/infra --secret-ref token --export > commits.yaml"
	flags := cmd.Flags()
	flags.StringVar(&kind, "type", "", "the kind of service: generic, generic-hmac, slack, msteams, discord, matrix, github, gitlab, gitea (required)")
	flags.StringVar(&address, "address", "", "its address; put an address that contains a password or token into the Secret")
	flags.StringVar(&channel, "channel", "", "the channel to post to")
	flags.StringVar(&username, "username", "", "the name to post as")
	flags.StringVar(&secret, "secret-ref", "", "the Secret with the address or the token")
	ui.Complete(cmd, "type", "generic", "generic-hmac", "slack", "msteams", "discord", "matrix", "github", "gitlab", "gitea")
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if kind == "" || address == "" && secret == "" {
			return nil, ui.UsageErrorf(cmd, "--type and one of --address and --secret-ref are required")
		}
		spec := map[string]any{}
		setFields(spec, map[string]string{"type": kind, "address": address, "channel": channel, "username": username, "secretRef.name": secret})
		return spec, nil
	}
}

func alertSpec(cmd *cobra.Command) func(*cobra.Command, string) (map[string]any, error) {
	var provider, severity string
	var sources []string
	cmd.Example = "  yuba create alert failures --provider-ref chat --event-severity error --event-source Kustomization/*,Terraform/*"
	flags := cmd.Flags()
	flags.StringVar(&provider, "provider-ref", "", "the alert provider to send to (required)")
	flags.StringVar(&severity, "event-severity", "", "info for all events, error for failures only (default info)")
	flags.StringSliceVar(&sources, "event-source", nil, "an object whose events to send, as KIND/NAME or KIND/NAME.NAMESPACE; the name * means all (required)")
	ui.Complete(cmd, "event-severity", "info", "error")
	return func(cmd *cobra.Command, _ string) (map[string]any, error) {
		if provider == "" || len(sources) == 0 {
			return nil, ui.UsageErrorf(cmd, "--provider-ref and --event-source are required")
		}
		about, err := crossReferences(cmd, "event-source", sources, append(slices.Clone(receivable), session.CircuitBreakers.GVK.Kind))
		if err != nil {
			return nil, err
		}
		spec := map[string]any{"eventSources": about}
		setFields(spec, map[string]string{"providerRef.name": provider, "eventSeverity": severity})
		return spec, nil
	}
}

// receivable are the kinds that a receiver may ask.
var receivable = []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact", "Kustomization", "Terraform"}

// crossReferences reads KIND/NAME and KIND/NAME.NAMESPACE, of known kinds.
func crossReferences(cmd *cobra.Command, flag string, values, known []string) ([]any, error) {
	refs := make([]any, 0, len(values))
	for _, value := range values {
		kind, name, ok := strings.Cut(value, "/")
		if !ok || name == "" || !slices.Contains(known, kind) {
			return nil, ui.UsageErrorf(cmd, "--%s %q: want KIND/NAME, and KIND one of %s", flag, value, strings.Join(known, ", "))
		}
		ref := map[string]any{"kind": kind, "name": name}
		if at := strings.LastIndex(name, "."); at > 0 {
			ref["name"], ref["namespace"] = name[:at], name[at+1:]
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func anys(values []string) []any {
	list := make([]any, 0, len(values))
	for _, v := range values {
		list = append(list, v)
	}
	return list
}
