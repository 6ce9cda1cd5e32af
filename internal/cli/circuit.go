// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// newCircuitCommand opens or closes circuit breakers by hand. They belong to no namespace.
func newCircuitCommand(a *app, open bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: circuitBreakers.word + " NAME...", Aliases: circuitBreakers.aliases(),
		Short: "Close circuit breakers: what they paused goes on",
		Long: `Close circuit breakers. The stacks that they paused are tried again, spread over some minutes; drift that is found then
waits for approval. One that the server has opened stays closed, whatever fails, until it is deleted or its spec.mode says
Automatic. One that a person keeps open is the server's again.`,
		Example: "  yuba resume circuitbreaker aws-unavailable-1a2b3c",
		Args:    arguments(1, -1), ValidArgsFunction: a.objectNames(circuitBreakers, true),
	}
	if open {
		cmd.Short = "Keep circuit breakers open: nothing that they concern is applied by itself"
		cmd.Long = `Keep circuit breakers open until they are resumed, whatever is seen: nothing that they concern is applied by itself, and
nothing is probed. To make one for maintenance:

    yuba kubectl apply -f - <<EOT
    apiVersion: yuba.dev/v1alpha1
    kind: CircuitBreaker
    metadata: {name: aws-upgrade}
    spec: {mode: Open, provider: hashicorp/aws}
    EOT`
		cmd.Example = "  yuba suspend circuitbreaker aws-unavailable-1a2b3c"
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onObjects(circuitBreakers, out, func(ctx context.Context, s *session, keys []types.NamespacedName) error {
		return s.changeEach(keys, out, func(key types.NamespacedName) (*object, error) { return s.turnCircuit(ctx, key, open) })
	})
	return cmd
}

// turnCircuit opens or closes one.
func (s *session) turnCircuit(ctx context.Context, key types.NamespacedName, open bool) (*object, error) {
	action := "resume"
	if open {
		action = "suspend"
	}
	is, err := s.getObject(ctx, circuitBreakers, key)
	if err != nil {
		return nil, err
	}
	mode, word := yubav1.ModeClosed, "closed"
	switch {
	case open:
		mode, word = yubav1.ModeOpen, "kept open"
	case is.Spec.Mode == string(yubav1.ModeOpen):
		mode, word = yubav1.ModeAutomatic, "not kept open any more"
	}
	o, err := s.patchObject(ctx, action, circuitBreakers, key, change{Spec: map[string]any{"mode": mode}})
	if err != nil {
		return nil, err
	}
	s.news("Circuit breaker %s is %s.", key.Name, word)
	return o, nil
}

// circuitHead names the columns of circuit breakers beside their names; circuitCells are what is in them.
var circuitHead = []string{"STATE", "STACKS", "OPENED", "MESSAGE"}

func circuitCells(o *object, now time.Time) map[string]string {
	opened := ""
	if at := o.Status.OpenedAt; at != nil {
		opened = age(now, at.Time) + " ago"
	}
	return map[string]string{"NAME": o.GetName(), "STATE": o.Status.State, "STACKS": strconv.Itoa(o.Status.Affected), "OPENED": opened, "MESSAGE": o.message()}
}
