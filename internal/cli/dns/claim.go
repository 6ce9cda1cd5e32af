// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/names"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// claiming are the flags of "yuba dns claim".
type claiming struct {
	pool, from    string
	addresses     []string
	renew, noWait bool
}

func newClaimCommand(a *session.App) *cobra.Command {
	var f claiming
	cmd := &cobra.Command{
		Use:   "claim NAME",
		Short: "Reserve a subdomain, or let it lead to addresses",
		Long: `Claim a subdomain of a pool. Without addresses, the name is reserved for the pool's reservationTTL. With them, its records are
written; the command may be used again with other addresses. --from takes the addresses from an output of a stack, which may
be applied later: the records follow it.

The command waits until the name is reserved, or its records are written, and prints them. It fails if the name is refused,
or belongs to somebody else. "yuba dns release NAME" gives the name back.`,
		Example: "  yuba dns claim acme --pool apps\n  yuba dns claim acme --address 192.0.2.1 --address 2001:db8::1\n" +
			"  yuba dns claim acme --pool platform/apps --from network.load_balancer_ip\n  yuba dns claim acme --renew",
		Args: ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.SubdomainClaims, false),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.pool, "pool", "", "the SubdomainPool, NAME or NAMESPACE/NAME (default the only one of the namespace)")
	flags.StringArrayVar(&f.addresses, "address", nil, "an address that the name leads to; can be repeated")
	flags.StringVar(&f.from, "from", "", "take the addresses from an output of a stack, STACK.OUTPUT")
	flags.BoolVar(&f.renew, "renew", false, "begin the reservation anew")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait until the name is reserved")
	ui.AddTimeoutFlag(cmd, 2*time.Minute, "how long to wait")
	ui.CompleteFlag(cmd, "pool", a.ObjectNames(session.SubdomainPools, false))
	ui.CompleteFlag(cmd, "address", ui.NoNames)
	ui.CompleteFlag(cmd, "from", ui.NoNames)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if f.from != "" && len(f.addresses) > 0 {
			return ui.UsageErrorf(cmd, "want --address or --from, not both")
		}
		for _, address := range f.addresses {
			if _, err := netip.ParseAddr(address); err != nil {
				return ui.UsageErrorf(cmd, "--address: %q is not an IP address, such as 192.0.2.1 or 2001:db8::1", address)
			}
		}
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		key := types.NamespacedName{Namespace: s.Namespace, Name: args[0]}
		changed, err := f.apply(ctx, cmd, s, key, args[0])
		if err != nil {
			return err
		}
		if !f.noWait {
			if changed, err = await(ctx, s, client.ObjectKeyFromObject(changed), changed.Generation, f.requested(changed)); err != nil {
				return err
			}
		}
		if out.Machine() {
			return out.Print(s.Out, changed)
		}
		return showClaim(s, changed)
	})
	return cmd
}

func (f *claiming) requested(c *yubav1.SubdomainClaim) string {
	if !f.renew {
		return ""
	}
	return c.Annotations[infrav1.AnnotationReconcile]
}

// apply creates the claim, or changes what the flags say.
func (f *claiming) apply(ctx context.Context, cmd *cobra.Command, s *session.Session, key types.NamespacedName, name string) (*yubav1.SubdomainClaim, error) {
	key.Name = objectName(name)
	c := &yubav1.SubdomainClaim{}
	err := s.GetAs(ctx, session.SubdomainClaims, key, c)
	exists := err == nil
	if err != nil && !ui.IsNotFound(err) {
		return nil, err
	}
	before, err := f.object(c)
	if err != nil {
		return nil, err
	}
	if !exists {
		c = &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: yubav1.SubdomainClaimSpec{Name: name}}
		if c.Spec.PoolRef, err = f.poolRef(ctx, cmd, s); err != nil {
			return nil, err
		}
	}
	if len(f.addresses) > 0 {
		c.Spec.Addresses, c.Spec.AddressesFrom = f.addresses, nil
	}
	if f.from != "" {
		stack, output, ok := strings.Cut(f.from, ".")
		if !ok || stack == "" || output == "" {
			return nil, ui.UsageErrorf(cmd, "--from %s is not STACK.OUTPUT, such as network.load_balancer_ip", f.from)
		}
		c.Spec.Addresses, c.Spec.AddressesFrom = nil, &yubav1.StackOutput{Stack: stack, Output: output}
	}
	if f.renew {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.AnnotationReconcile, session.NewRequest())
	}
	after, err := f.object(c)
	if err != nil {
		return nil, err
	}
	if exists {
		err = s.Objects.Patch(ctx, after, client.MergeFrom(before), session.FieldOwner)
	} else {
		err = s.Objects.Create(ctx, after, session.FieldOwner)
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", name, err)
	}
	return c, runtime.DefaultUnstructuredConverter.FromUnstructured(after.Object, c)
}

// object is a claim as the API takes it.
func (f *claiming) object(c *yubav1.SubdomainClaim) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(session.SubdomainClaims.GVK)
	return o, nil
}

// objectName is the name of the claim of a subdomain. The API's names are those of DNS.
func objectName(name string) string {
	if name == names.Apex {
		return "whole"
	}
	if ascii, err := names.Parse(name, names.Rules{International: true}); err == nil {
		return ascii
	}
	return strings.ToLower(name)
}

// poolRef finds the pool.
func (f *claiming) poolRef(ctx context.Context, cmd *cobra.Command, s *session.Session) (meta.NamespacedObjectReference, error) {
	if f.pool != "" {
		key, err := s.Stack(cmd, f.pool)
		if err != nil {
			return meta.NamespacedObjectReference{}, err
		}
		if key.Namespace == s.Namespace {
			key.Namespace = ""
		}
		return meta.NamespacedObjectReference{Namespace: key.Namespace, Name: key.Name}, nil
	}
	pools, err := session.ListAs[yubav1.SubdomainPool](ctx, s, session.SubdomainPools, s.Namespace)
	if err != nil {
		return meta.NamespacedObjectReference{}, err
	}
	switch len(pools) {
	case 0:
		return meta.NamespacedObjectReference{}, ui.UsageErrorf(cmd, "the namespace %s has no SubdomainPool: name one of another namespace with --pool NAMESPACE/NAME", s.Namespace)
	case 1:
		return meta.NamespacedObjectReference{Name: pools[0].Name}, nil
	default:
		return meta.NamespacedObjectReference{}, ui.UsageErrorf(cmd, "the namespace %s has %d SubdomainPools: name one with --pool", s.Namespace, len(pools))
	}
}

// await waits until a claim is decided.
func await(ctx context.Context, s *session.Session, key types.NamespacedName, generation int64, request string) (*yubav1.SubdomainClaim, error) {
	c := &yubav1.SubdomainClaim{}
	found, err := s.AwaitObject(ctx, session.SubdomainClaims, key, func(o *session.Object) bool {
		*c = yubav1.SubdomainClaim{}
		if o.As(c) != nil || c.Status.ObservedGeneration < generation || request != "" && c.Status.LastHandledReconcileAt != request {
			return false
		}
		switch conditions.Of(c, infrav1.ConditionReady).Reason {
		case "", yubav1.ReasonClaimContended, yubav1.ReasonRecordUnreachable, yubav1.ReasonRecordUnverified: // they pass
			return false
		}
		return true
	})
	ready := conditions.Of(c, infrav1.ConditionReady)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, ui.Exitf(ui.ExitWaiting, "SubdomainClaim %s is not decided yet. %s: %s", key, ready.Reason, ready.Message)
	case err != nil:
		return nil, err
	case found == nil:
		return nil, ui.Exitf(ui.ExitNotFound, "SubdomainClaim %s was deleted", key)
	}
	switch ready.Reason {
	case yubav1.ReasonClaimCommitted, yubav1.ReasonClaimReserved:
		return c, nil
	case yubav1.ReasonClaimMissing:
		return c, nil
	}
	return nil, ui.Exitf(ui.ExitFailure, "SubdomainClaim %s: %s: %s", key, ready.Reason, ready.Message)
}

// showClaim prints a claim for people.
func showClaim(s *session.Session, c *yubav1.SubdomainClaim) error {
	l := ui.Labels{Writer: s.Out, Now: time.Now()}
	l.Line("Domain", "%s", c.Status.Domain)
	ready := conditions.Of(c, infrav1.ConditionReady)
	if ready.Type == "" {
		ready.Reason, ready.Message = "Pending", "not processed yet"
	}
	l.Line("Status", "%s: %s", ready.Reason, ready.Message)
	for _, r := range c.Status.Records {
		l.Line("Record", "%s %d IN %s %s", r.Name, r.TTL, r.Type, strings.Join(r.Addresses, " "))
	}
	return nil
}

func newReleaseCommand(a *session.App) *cobra.Command {
	var noWait bool
	cmd := &cobra.Command{
		Use:     "release NAME",
		Short:   "Give a claimed subdomain back",
		Long:    `Delete a claim. Its records are removed from the server, and the name is free for others. The command waits until that is done.`,
		Example: "  yuba dns release acme\n  yuba dns release team-a/acme",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.SubdomainClaims, false),
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the records are removed")
	ui.AddTimeoutFlag(cmd, 2*time.Minute, "how long to wait")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		key.Name = objectName(key.Name)
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		o, err := s.GetObject(ctx, session.SubdomainClaims, key)
		if err != nil {
			return explained(err, "SubdomainClaim", key)
		}
		domain := o.Text("status", "domain")
		if err := s.DeleteThis(ctx, o); err != nil {
			return err
		}
		if noWait {
			return nil
		}
		_, err = s.AwaitObject(ctx, session.SubdomainClaims, key, func(*session.Object) bool { return false })
		if errors.Is(err, context.DeadlineExceeded) {
			return ui.Exitf(ui.ExitWaiting, "the records of %s are not removed yet. See why:\n    yuba events -n %s", domain, key.Namespace)
		}
		if err != nil {
			return err
		}
		s.News("%s is released.", domain)
		return nil
	})
	return cmd
}
