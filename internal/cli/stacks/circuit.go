// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// newCircuitCommand opens or closes circuit breakers manually.
func newCircuitCommand(a *session.App, open bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: session.CircuitBreakers.Word + " NAME...", Aliases: session.CircuitBreakers.Aliases(),
		Short: "Close circuit breakers and resume the stacks that they paused",
		Long: `Close circuit breakers. Yuba retries the stacks that they paused, spread over some minutes; drift that it finds then
waits for approval. A circuit breaker that the server opened stays closed, whatever fails, until it is deleted or its
spec.mode says Automatic. One that a person keeps open becomes automatic again.`,
		Example: "  yuba resume circuitbreaker aws-unavailable-1a2b3c",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: a.ObjectNames(session.CircuitBreakers, true),
	}
	if open {
		cmd.Short = "Keep circuit breakers open, so that Yuba applies no affected stack automatically"
		cmd.Long = `Keep circuit breakers open until they are resumed. Yuba applies no affected stack automatically, and probes none. To create one
for maintenance:

    yuba kubectl apply -f - <<EOT
    apiVersion: yuba.dev/v1alpha1
    kind: CircuitBreaker
    metadata: {name: aws-upgrade}
    spec: {mode: Open, provider: hashicorp/aws}
    EOT`
		cmd.Example = "  yuba suspend circuitbreaker aws-unavailable-1a2b3c"
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = listing.OnEach(a, session.CircuitBreakers, out, func(ctx context.Context, s *session.Session, key types.NamespacedName) (*session.Object, error) {
		return turnCircuit(ctx, s, key, open)
	})
	return cmd
}

func turnCircuit(ctx context.Context, s *session.Session, key types.NamespacedName, open bool) (*session.Object, error) {
	action := "resume"
	if open {
		action = "suspend"
	}
	is, err := s.GetObject(ctx, session.CircuitBreakers, key)
	if err != nil {
		return nil, err
	}
	mode, word := yubav1.ModeClosed, "closed"
	switch {
	case open:
		mode, word = yubav1.ModeOpen, "kept open"
	case is.Spec.Mode == string(yubav1.ModeOpen):
		mode, word = yubav1.ModeAutomatic, "automatic again"
	}
	o, err := s.PatchObject(ctx, action, session.CircuitBreakers, key, session.Change{Spec: map[string]any{"mode": mode}})
	if err == nil {
		s.News("Circuit breaker %s is %s.", key.Name, word)
	}
	return o, err
}
