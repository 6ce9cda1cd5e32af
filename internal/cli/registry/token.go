// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

func accountOfToken(name string) string { return "registry-" + name }

func newTokenCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:   "token",
		Short: "Make and revoke tokens for the registry",
		Long: `Make and revoke tokens by which CI and laptops use the registry. A token is that of a service account in the namespace ` + tokenNamespace + `,
whose cluster role has the rights; "kubectl auth can-i" explains them. It is for the registry only: the API refuses it. Nothing
stores the token itself.`,
		Example: "  yuba registry token create ci --write acme\n  yuba registry token list\n  yuba registry token delete ci",
	}, newTokenCreateCommand(a), newTokenListCommand(a), newTokenDeleteCommand(a))
}

func newTokenCreateCommand(a *session.App) *cobra.Command {
	var rights access.Rights
	var file string
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token for the registry",
		Long: `Make a token, and print it. It reads, or reads and writes, the namespaces of the registry that the flags name; "*" stands for all.
A token with --write publishes modules and providers in the namespace, but cannot change the keys that sign providers there: that
needs --keys, which CI should not have.

Create it again to get another token with the rights that the flags now name; earlier tokens get these rights, too, until they expire.

With --file, the token is for "yuba registry serve": the command adds its digest to the file and asks no server.`,
		Example: "  yuba registry token create ci --write acme\n  yuba registry token create laptops --read '*' --life 720h\n  yuba registry token create ci --write acme --file tokens",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&rights.Read, "read", nil, "a namespace of the registry to read; can be repeated")
	flags.StringSliceVar(&rights.Write, "write", nil, "a namespace of the registry to read, and to publish to; can be repeated")
	flags.StringSliceVar(&rights.Keys, "keys", nil, "a namespace of the registry whose signing keys the token may add and remove; can be repeated")
	flags.DurationVar(&life, "life", 90*24*time.Hour, "how long the token is valid")
	flags.StringVar(&file, "file", "", "a file of tokens of \"yuba registry serve\" to add the token's digest to")
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	online := a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		api, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			return fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
		}
		token, err := makeToken(cmd.Context(), api, args[0], rights, life)
		if err != nil {
			return fmt.Errorf("make the token %s: %w", args[0], err)
		}
		s.News("Token %s is valid until %s, for the registry only. It is not stored. Revoke it with:\n    yuba registry token delete %s",
			args[0], token.ExpirationTimestamp.UTC().Format(time.RFC3339), args[0])
		fmt.Fprintln(a.Out, token.Token)
		return nil
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if rights.Empty() {
			return ui.UsageErrorf(cmd, "want --read NAMESPACE, --write NAMESPACE or --keys NAMESPACE")
		}
		if file != "" && cmd.Flags().Changed("life") {
			return ui.UsageErrorf(cmd, "--life is for tokens of a server with an API: tokens in a file are valid until they are removed from it")
		}
		if file != "" {
			return addStatic(a, file, args[0], rights)
		}
		if problems := validation.IsDNS1123Label(args[0]); len(problems) > 0 {
			return ui.UsageErrorf(cmd, "%q is not a name for a token: %s", args[0], problems[0])
		}
		return online(cmd, args)
	}
	return cmd
}

// addStatic adds a token to the file of a registry without an API.
func addStatic(a *session.App, file, name string, rights access.Rights) error {
	token, grant, err := access.NewGrant(name, rights)
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
func rulesOf(rights access.Rights) []rbacv1.PolicyRule {
	packages, keys := []string{"modules", "providers"}, []string{"signingkeys"}
	rule := func(names []string, resources []string, verbs ...string) rbacv1.PolicyRule {
		if slices.Contains(names, access.Everything) {
			names, verbs = nil, append(verbs, "list")
		}
		return rbacv1.PolicyRule{APIGroups: []string{content.Group}, Resources: resources, ResourceNames: names, Verbs: verbs}
	}
	rules := []rbacv1.PolicyRule{rule([]string{access.Everything}, []string{"mirror", "registry"}, "get")}
	if len(rights.Read) > 0 {
		rules = append(rules, rule(rights.Read, slices.Concat(packages, keys), "get"))
	}
	if len(rights.Write) > 0 {
		rules = append(rules, rule(rights.Write, packages, "get", "create", "update", "patch", "delete"), rule(rights.Write, keys, "get"))
	}
	if len(rights.Keys) > 0 {
		rules = append(rules, rule(rights.Keys, keys, "get", "update", "delete"))
	}
	return rules
}

// makeToken makes the service account and its rights, and requests a token.
func makeToken(ctx context.Context, api kubernetes.Interface, name string, rights access.Rights, life time.Duration) (authenticationv1.TokenRequestStatus, error) {
	failed := func(err error) (authenticationv1.TokenRequestStatus, error) {
		return authenticationv1.TokenRequestStatus{}, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tokenNamespace}}
	if _, err := api.CoreV1().Namespaces().Get(ctx, tokenNamespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		if _, err := api.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return failed(err)
		}
	}
	meta := metav1.ObjectMeta{Name: roleOfToken(name), Labels: map[string]string{tokenLabel: name}}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rulesOf(rights)}
	_, err := api.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = api.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return failed(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tokenNamespace, Name: accountOfToken(name), Labels: meta.Labels}}
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
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{access.Audience}, ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return failed(err)
	}
	return token.Status, nil
}
