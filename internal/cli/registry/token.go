// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
)

// tokenLabel marks the service accounts of tokens.
const tokenLabel = "yuba.dev/registry-token"

// tokenNamespace is where they are.
const tokenNamespace = content.ConfigMapNamespace

func roleOfToken(name string) string { return "yuba:registry-token:" + name }

func newTokenCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:   "token",
		Short: "Make and revoke tokens for the registry",
		Long: `Make and revoke tokens by which CI and laptops use the registry. A token is that of a service account in the namespace ` + tokenNamespace + `,
whose cluster role has the rights; "kubectl auth can-i" explains them. Nothing stores the token itself.`,
		Example: "  yuba registry token create ci --write acme\n  yuba registry token list\n  yuba registry token delete ci",
	}, newTokenCreateCommand(a), newTokenListCommand(a), newTokenDeleteCommand(a))
}

func newTokenCreateCommand(a *session.App) *cobra.Command {
	var read, write []string
	var file string
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token for the registry",
		Long: `Make a token, and print it. It reads, or reads and writes, the namespaces of the registry that the flags name; "*" stands for all.
Create it again to get another token with the rights that the flags now name; earlier tokens get these rights, too, until they expire.

With --file, the token is for "yuba registry serve": the command adds its digest to the file and asks no server.`,
		Example: "  yuba registry token create ci --write acme\n  yuba registry token create laptops --read '*' --life 720h\n  yuba registry token create ci --write acme --file tokens",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&read, "read", nil, "a namespace of the registry to read; can be repeated")
	flags.StringSliceVar(&write, "write", nil, "a namespace of the registry to read and write; can be repeated")
	flags.DurationVar(&life, "life", 90*24*time.Hour, "how long the token is valid")
	flags.StringVar(&file, "file", "", "a file of tokens of \"yuba registry serve\" to add the token's digest to")
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	online := a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		token, err := makeToken(cmd.Context(), s, args[0], read, write, life)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, token)
		return nil
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(read)+len(write) == 0 {
			return ui.UsageErrorf(cmd, "want --read NAMESPACE or --write NAMESPACE")
		}
		if file != "" && cmd.Flags().Changed("life") {
			return ui.UsageErrorf(cmd, "--life is for tokens of a server with an API: tokens in a file are valid until they are removed from it")
		}
		if file != "" {
			return addStatic(a, file, args[0], read, write)
		}
		if problems := validation.IsDNS1123Label(args[0]); len(problems) > 0 {
			return ui.UsageErrorf(cmd, "%q is not a name for a token: %s", args[0], problems[0])
		}
		return online(cmd, args)
	}
	return cmd
}

// addStatic adds a token to the file of a registry without an API.
func addStatic(a *session.App, file, name string, read, write []string) error {
	token, grant, err := access.NewGrant(name, read, write)
	if err != nil {
		return ui.Exitf(ui.ExitUsage, "%v", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("add a token to the file: %w", err)
	}
	have, err := access.ReadGrants(f)
	if err == nil && slices.ContainsFunc(have, func(g access.Grant) bool { return g.Name == name }) {
		err = ui.Exitf(ui.ExitFailure, "%s has a token with the name %q: delete its line, or choose another name", file, name)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, grant)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	a.News("Added the token's digest to %s. Restart the registry to use it. The token is not stored:", file)
	fmt.Fprintln(a.Out, token)
	return nil
}

// rulesOf are the rights of a token. The mirror is for everybody who may read anything.
func rulesOf(read, write []string) []rbacv1.PolicyRule {
	packages := []string{"modules", "providers"}
	rule := func(names []string, resources []string, verbs ...string) rbacv1.PolicyRule {
		if slices.Contains(names, access.Everything) {
			names, verbs = nil, append(verbs, "list")
		}
		return rbacv1.PolicyRule{APIGroups: []string{content.Group}, Resources: resources, ResourceNames: names, Verbs: verbs}
	}
	rules := []rbacv1.PolicyRule{rule([]string{access.Everything}, []string{"mirror", "registry"}, "get")}
	if len(read) > 0 {
		rules = append(rules, rule(read, packages, "get"))
	}
	if len(write) > 0 {
		rules = append(rules, rule(write, packages, "get", "create", "update", "patch", "delete"))
	}
	return rules
}

// makeToken makes the service account and its rights, and requests a token.
func makeToken(ctx context.Context, s *session.Session, name string, read, write []string, life time.Duration) (string, error) {
	api, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return "", fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
	}
	failed := func(err error) (string, error) { return "", fmt.Errorf("make the token %s: %w", name, err) }
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tokenNamespace}}
	if _, err := api.CoreV1().Namespaces().Get(ctx, tokenNamespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		if _, err := api.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return failed(err)
		}
	}
	meta := metav1.ObjectMeta{Name: roleOfToken(name), Labels: map[string]string{tokenLabel: name}}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rulesOf(read, write)}
	if _, err = api.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = api.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return failed(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tokenNamespace, Name: "registry-" + name, Labels: meta.Labels}}
	if _, err := api.CoreV1().ServiceAccounts(tokenNamespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return failed(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tokenNamespace, Name: account.Name}}}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return failed(err)
	}
	seconds := int64(life.Seconds())
	token, err := api.CoreV1().ServiceAccounts(tokenNamespace).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return failed(err)
	}
	s.News("Token %s is valid until %s. It is not stored. Revoke it with:\n    yuba registry token delete %s",
		name, token.Status.ExpirationTimestamp.UTC().Format(time.RFC3339), name)
	return token.Status.Token, nil
}

func newTokenListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens for the registry and their rights",
		Long:    `List the names of tokens that "yuba registry token create" made, and what they may read and write.`,
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
		roles, err := api.RbacV1().ClusterRoles().List(cmd.Context(), metav1.ListOptions{LabelSelector: tokenLabel})
		if err != nil {
			return fmt.Errorf("list the tokens of the registry: %w", err)
		}
		items := []listedToken{}
		for i := range roles.Items {
			items = append(items, tokenOf(&roles.Items[i]))
		}
		if out.Machine() {
			return out.Print(a.Out, map[string]any{"items": items})
		}
		if len(items) == 0 {
			a.News("There are no tokens. Make one with:\n    yuba registry token create NAME --read NAMESPACE")
			return nil
		}
		rows := [][]string{{"NAME", "READ", "WRITE", "SERVICE ACCOUNT"}}
		for _, t := range items {
			rows = append(rows, []string{t.Name, strings.Join(t.Read, ","), strings.Join(t.Write, ","), t.ServiceAccount})
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
	ServiceAccount string   `json:"serviceAccount"`
}

// tokenOf reads the rights of a token from its role.
func tokenOf(role *rbacv1.ClusterRole) listedToken {
	name := role.Labels[tokenLabel]
	t := listedToken{Name: name, ServiceAccount: tokenNamespace + "/registry-" + name}
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{access.Everything}
		}
		switch {
		case !slices.Contains(rule.Resources, "modules"):
		case slices.Contains(rule.Verbs, "update"):
			t.Write = append(t.Write, names...)
		default:
			t.Read = append(t.Read, names...)
		}
	}
	return t
}

func newTokenDeleteCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete NAME",
		Short:   "Revoke all tokens with a name",
		Long:    `Revoke all tokens with a name: delete the service account and its rights. The registry refuses the tokens within ten seconds.`,
		Example: "  yuba registry token delete ci",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		api, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			return fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
		}
		ctx, name := cmd.Context(), args[0]
		if err := api.CoreV1().ServiceAccounts(tokenNamespace).Delete(ctx, "registry-"+name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("revoke the token %s: %w", name, err)
		}
		for _, remove := range []func(context.Context, string, metav1.DeleteOptions) error{api.RbacV1().ClusterRoleBindings().Delete, api.RbacV1().ClusterRoles().Delete} {
			if err := remove(ctx, roleOfToken(name), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete the rights of the token %s: %w", name, err)
			}
		}
		a.News("Revoked the token %s", name)
		return nil
	})
	return cmd
}
