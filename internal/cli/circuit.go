// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// circuitBreakerKind is the kind of outages that many stacks suffer from.
var circuitBreakerKind = yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind)

// circuitBreakers is how the API calls them.
const circuitBreakers = "circuitbreakers"

// newCircuitCommand opens or closes circuit breakers by hand. They belong to no namespace.
func newCircuitCommand(a *app, open bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "circuitbreaker NAME...", Aliases: []string{circuitBreakers, "cb"},
		Short: "Close circuit breakers: what they paused goes on",
		Long: `Close circuit breakers. The stacks that they paused are tried again, spread over some minutes; drift that is found then
waits for approval. One that the server has opened stays closed, whatever fails, until it is deleted or its spec.mode says
Automatic. One that a person keeps open is the server's again.`,
		Example: "  yuba resume circuitbreaker aws-unavailable-1a2b3c",
		Args:    cobra.MinimumNArgs(1),
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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.connect()
		if err != nil {
			return err
		}
		for _, name := range args {
			if err := s.turnCircuit(cmd.Context(), name, open); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// turnCircuit opens or closes one.
func (s *session) turnCircuit(ctx context.Context, name string, open bool) error {
	action := "resume"
	if open {
		action = "suspend"
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(circuitBreakerKind)
	if err := s.objects.Get(ctx, types.NamespacedName{Name: name}, obj); err != nil {
		if apierrors.IsNotFound(err) {
			return exitf(exitNotFound, "%s circuit breaker %s: there is none of that name. Those there are:\n    yuba kubectl get %s", action, name, circuitBreakers)
		}
		return fmt.Errorf("%s circuit breaker %s: %w", action, name, err)
	}
	is, _, err := unstructured.NestedString(obj.Object, "spec", "mode")
	if err != nil {
		return fmt.Errorf("%s circuit breaker %s: %w", action, name, err)
	}
	mode, word := yubav1.ModeClosed, "closed"
	switch {
	case open:
		mode, word = yubav1.ModeOpen, "kept open"
	case is == string(yubav1.ModeOpen):
		mode, word = yubav1.ModeAutomatic, "not kept open any more"
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"mode": mode}})
	if err != nil {
		return fmt.Errorf("%s circuit breaker %s: %w", action, name, err)
	}
	if err := s.objects.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("%s circuit breaker %s: %w", action, name, err)
	}
	s.news("Circuit breaker %s is %s.", name, word)
	return nil
}
