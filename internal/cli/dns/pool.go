// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// poolView is a pool with its claims, for programs.
type poolView struct {
	Pool   *yubav1.SubdomainPool   `json:"pool"`
	Claims []yubav1.SubdomainClaim `json:"claims"`
}

// poolList are pools, for programs.
type poolList struct {
	Items []yubav1.SubdomainPool `json:"items"`
}

func newPoolCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool [NAME]",
		Short: "List the domains whose subdomains can be claimed, or the claims of one",
		Long: `List the SubdomainPools of the namespace; with NAME, show one with its claims. Claims of other namespaces are listed
if you may read them.`,
		Example: "  yuba dns pool\n  yuba dns pool apps\n  yuba dns pool platform/apps -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.ObjectNames(session.SubdomainPools, false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if len(args) == 0 {
			return listPools(cmd, s, out)
		}
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		return showPool(cmd, s, out, key)
	})
	return cmd
}

func listPools(cmd *cobra.Command, s *session.Session, out *ui.Output) error {
	pools, err := session.ListAs[yubav1.SubdomainPool](cmd.Context(), s, session.SubdomainPools, s.Namespace)
	if err != nil {
		return err
	}
	if out.Machine() {
		return out.Print(s.Out, poolList{append([]yubav1.SubdomainPool{}, pools...)})
	}
	if len(pools) == 0 {
		s.News("There is no SubdomainPool in the namespace %s. \"yuba kubectl explain subdomainpool.spec\" says what one has.", s.Namespace)
		return nil
	}
	rows := [][]string{{"NAME", "DOMAIN", "CLAIMS", "READY", "STATUS"}}
	for _, p := range pools {
		c := conditions.Of(&p, infrav1.ConditionReady)
		rows = append(rows, []string{p.Name, p.Spec.Domain, strconv.Itoa(int(p.Status.Claims)), string(c.Status), c.Message})
	}
	return s.Table(rows, nil)
}

func showPool(cmd *cobra.Command, s *session.Session, out *ui.Output, key types.NamespacedName) error {
	var pool yubav1.SubdomainPool
	if err := s.GetAs(cmd.Context(), session.SubdomainPools, key, &pool); err != nil {
		return explained(err, "SubdomainPool", key)
	}
	claims, err := session.ListAs[yubav1.SubdomainClaim](cmd.Context(), s, session.SubdomainClaims, "")
	if err != nil { // who may not read all namespaces sees those of the pool's
		if claims, err = session.ListAs[yubav1.SubdomainClaim](cmd.Context(), s, session.SubdomainClaims, key.Namespace); err != nil {
			return err
		}
	}
	view := poolView{Pool: &pool, Claims: []yubav1.SubdomainClaim{}}
	for _, c := range claims {
		if poolOf(&c) == key {
			view.Claims = append(view.Claims, c)
		}
	}
	if out.Machine() {
		return out.Print(s.Out, view)
	}
	l := ui.Labels{Writer: s.Out, Now: time.Now()}
	l.Line("Domain", "%s", pool.Spec.Domain)
	ready := conditions.Of(&pool, infrav1.ConditionReady)
	l.Line("Status", "%s: %s", ready.Reason, ready.Message)
	if p := pool.Spec.PowerDNS; p != nil {
		l.Line("Server", "PowerDNS %s at %s, zone %s", pool.Status.ServerVersion, p.URL, pool.Status.Zone)
	}
	l.Line("Records", "%s", joined(pool.Spec.Records))
	if len(view.Claims) == 0 {
		return nil
	}
	fmt.Fprintln(s.Out)
	rows := [][]string{{"CLAIM", "DOMAIN", "PHASE", "ADDRESSES", "STATUS"}}
	for _, c := range view.Claims {
		rows = append(rows, []string{c.Namespace + "/" + c.Name, c.Status.Domain, string(c.Status.Phase), c.Status.Addresses, conditions.Of(&c, infrav1.ConditionReady).Message})
	}
	return s.Table(rows, nil)
}

// poolOf is the pool that a claim names.
func poolOf(c *yubav1.SubdomainClaim) types.NamespacedName {
	key := types.NamespacedName{Namespace: c.Spec.PoolRef.Namespace, Name: c.Spec.PoolRef.Name}
	if key.Namespace == "" {
		key.Namespace = c.Namespace
	}
	return key
}

func explained(err error, kind string, key types.NamespacedName) error {
	if ui.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "there is no %s %s. List them:\n    yuba kubectl get %ss -n %s", kind, key, strings.ToLower(kind), key.Namespace)
	}
	return err
}
