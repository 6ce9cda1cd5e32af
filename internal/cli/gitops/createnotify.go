// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/blueprint"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func receiverFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create receiver push --type github --event ping,push --secret-ref token --resource GitRepository/infra\n" +
		"  yuba create receiver push --type generic --secret-ref token --resource OCIRepository/network --export > push.yaml"
	senders := []string{"generic", "generic-hmac", "github", "gitlab", "gitea", "bitbucket", "dockerhub", "harbor"}
	f.Text("type", "type", "", "the kind of sender: "+strings.Join(senders, ", ")+" (required)")
	events := cmd.Flags().StringSlice("event", nil, "accept only these events")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the token of the sender (required)")
	resources := cmd.Flags().StringSlice("resource", nil, "an object to reconcile on each call, as KIND/NAME or KIND/NAME.NAMESPACE (required)")
	f.Require("--type, --secret-ref and --resource are required", "type", "secret-ref", "resource")
	f.Each("resources", resources, func(v string) (any, error) { return blueprint.Reference(cmd, "resource", v, receivable) })
	f.Each("events", events, func(v string) (any, error) { return v, nil })
	ui.Complete(cmd, "type", senders...)
}

func providerFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create alert-provider chat --type slack --channel infra --secret-ref slack\n" +
		"  yuba create alert-provider commits --type github --address https://github.com/team/infra --secret-ref token --export > commits.yaml"
	services := []string{"generic", "generic-hmac", "slack", "msteams", "discord", "matrix", "github", "gitlab", "gitea"}
	f.Text("type", "type", "", "the kind of service: "+strings.Join(services, ", ")+" (required)")
	f.Text("address", "address", "", "its address; put an address that contains a password or token into the Secret")
	f.Text("channel", "channel", "", "the channel to post to")
	f.Text("username", "username", "", "the name to post as")
	f.Text("secret-ref", "secretRef.name", "", "the Secret with the address or the token")
	const needed = "--type and one of --address and --secret-ref are required"
	f.Require(needed, "type")
	f.RequireOne(needed, "address", "secret-ref")
	ui.Complete(cmd, "type", services...)
}

func alertFields(cmd *cobra.Command, f *blueprint.Fields) {
	cmd.Example = "  yuba create alert failures --provider-ref chat --event-severity error --event-source Kustomization/*,Terraform/*"
	f.Text("provider-ref", "providerRef.name", "", "the alert provider to send to (required)")
	f.Text("event-severity", "eventSeverity", "", "info for all events, error for failures only (default info)")
	sources := cmd.Flags().StringSlice("event-source", nil, "an object whose events to send, as KIND/NAME or KIND/NAME.NAMESPACE; the name * means all (required)")
	f.Require("--provider-ref and --event-source are required", "provider-ref", "event-source")
	kinds := append(slices.Clone(receivable), session.CircuitBreakers.GVK.Kind)
	f.Each("eventSources", sources, func(v string) (any, error) { return blueprint.Reference(cmd, "event-source", v, kinds) })
	ui.Complete(cmd, "event-severity", "info", "error")
}

// receivable are the kinds that a Receiver can reconcile.
var receivable = []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact", "Kustomization", "Terraform"}
