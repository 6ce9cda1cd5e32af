// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
)

func newTokenListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens for the registry and their rights",
		Long: `List the names of tokens that "yuba registry token create" made, and what they may read, publish and sign. The column NOTE tells
which part of a token somebody deleted.`,
		Example: "  yuba registry token list",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		api, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			return fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
		}
		items, err := listTokens(cmd.Context(), api)
		if err != nil {
			return fmt.Errorf("list the tokens of the registry: %w", err)
		}
		if out.Machine() {
			return out.Print(a.Out, map[string]any{"items": items})
		}
		if len(items) == 0 {
			a.News("There are no tokens. Make one with:\n    yuba registry token create NAME --read NAMESPACE")
			return nil
		}
		rows := [][]string{{"NAME", "READ", "WRITE", "KEYS", "SERVICE ACCOUNT", "NOTE"}}
		for _, t := range items {
			rows = append(rows, []string{t.Name, strings.Join(t.Read, ","), strings.Join(t.Write, ","), strings.Join(t.Keys, ","), t.ServiceAccount, t.Problem})
		}
		return a.Table(rows, out)
	})
	return cmd
}

// listedToken is a token in the answer of the list.
type listedToken struct {
	Name           string   `json:"name"`
	Read           []string `json:"read,omitempty"`
	Write          []string `json:"write,omitempty"`
	Keys           []string `json:"keys,omitempty"`
	ServiceAccount string   `json:"serviceAccount"`
	// Problem says which part is missing.
	Problem string `json:"problem,omitempty"`
}

// listTokens finds tokens by any of their parts: a token of which somebody deleted a part must be seen
// to be deleted.
func listTokens(ctx context.Context, api kubernetes.Interface) ([]listedToken, error) {
	labelled := metav1.ListOptions{LabelSelector: tokenLabel}
	roles, err := api.RbacV1().ClusterRoles().List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	bindings, err := api.RbacV1().ClusterRoleBindings().List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	accounts, err := api.CoreV1().ServiceAccounts(tokenNamespace).List(ctx, labelled)
	if err != nil {
		return nil, err
	}
	type parts struct{ role, binding, account bool }
	found, rights := map[string]*parts{}, map[string]access.Rights{}
	of := func(o metav1.Object) *parts {
		name := o.GetLabels()[tokenLabel]
		if found[name] == nil {
			found[name] = &parts{}
		}
		return found[name]
	}
	for i := range roles.Items {
		of(&roles.Items[i]).role = true
		rights[roles.Items[i].Labels[tokenLabel]] = rightsOf(roles.Items[i].Rules)
	}
	for i := range bindings.Items {
		of(&bindings.Items[i]).binding = true
	}
	for i := range accounts.Items {
		of(&accounts.Items[i]).account = true
	}
	items := []listedToken{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t := listedToken{Name: name, Read: rights[name].Read, Write: rights[name].Write, Keys: rights[name].Keys, ServiceAccount: tokenNamespace + "/" + accountOfToken(name)}
		switch has := *found[name]; {
		case !has.account:
			t.Problem = "the service account is missing: no token of this name is valid"
		case !has.role || !has.binding:
			t.Problem = "the rights are missing: create the token again"
		}
		items = append(items, t)
	}
	return items, nil
}

// rightsOf reads the rights of a token from the rules of its role.
func rightsOf(rules []rbacv1.PolicyRule) access.Rights {
	var r access.Rights
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{access.Everything}
		}
		modules, keys, changes := slices.Contains(rule.Resources, "modules"), slices.Contains(rule.Resources, "signingkeys"), slices.Contains(rule.Verbs, "update")
		switch {
		case modules && changes:
			r.Write = append(r.Write, names...)
		case modules:
			r.Read = append(r.Read, names...)
		case keys && changes:
			r.Keys = append(r.Keys, names...)
		}
	}
	return r
}

func newTokenDeleteCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Revoke all tokens with a name",
		Long: `Revoke all tokens with a name: delete the service account and its rights, or those of them that still exist. The registry refuses the
tokens within ten seconds.`,
		Example: "  yuba registry token delete ci",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		api, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			return fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
		}
		if err := deleteToken(cmd.Context(), api, args[0]); err != nil {
			return err
		}
		a.News("Revoked the token %s", args[0])
		return nil
	})
	return cmd
}

// deleteToken deletes all parts of a token, the account first: without it no token is valid.
func deleteToken(ctx context.Context, api kubernetes.Interface, name string) error {
	type remove = func(context.Context, string, metav1.DeleteOptions) error
	found := false
	for _, part := range []struct {
		remove     remove
		name, what string
	}{
		{api.CoreV1().ServiceAccounts(tokenNamespace).Delete, accountOfToken(name), "revoke the token"},
		{api.RbacV1().ClusterRoleBindings().Delete, roleOfToken(name), "delete the binding of the token"},
		{api.RbacV1().ClusterRoles().Delete, roleOfToken(name), "delete the rights of the token"},
	} {
		err := part.remove(ctx, part.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s %s: %w", part.what, name, err)
		}
		found = found || err == nil
	}
	if !found {
		return ui.Exitf(ui.ExitNotFound, "revoke the token %s: there is no token with this name. List them with:\n    yuba registry token list", cmp.Or(name, `""`))
	}
	return nil
}
