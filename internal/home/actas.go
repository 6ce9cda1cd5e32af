// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	rbaccoverage "k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// actAs keeps users from becoming a service account with more rights than their own. Kubernetes'
// role edit may request tokens for every service account of its namespace, because in a cluster its
// holders could start Pods as that account anyway. There are no Pods here, and an account may have
// rights that edit lacks: a shell, or all rights of the server.
//
// A user can become an account by a token request, by impersonation, and with a Secret that asks
// for a token. As with roles, users with the verb "escalate" on service accounts are exempt.
type actAs struct {
	authorizer.Authorizer
	rules        rbacvalidation.AuthorizationRuleResolver
	bindings     rbaclisters.RoleBindingLister
	clusterRoles rbaclisters.ClusterRoleLister
}

// everyAccounts is the role that Kubernetes grants to all service accounts. It allows reading
// public keys.
const everyAccounts = "system:service-account-issuer-discovery"

// use wraps an authorizer.
func (a *actAs) use(inner authorizer.Authorizer, shared informers.SharedInformerFactory) {
	access := shared.Rbac().V1()
	a.Authorizer, a.bindings, a.clusterRoles = inner, access.RoleBindings().Lister(), access.ClusterRoles().Lister()
	a.rules = rbacvalidation.NewDefaultRuleResolver(&rbac.RoleGetter{Lister: access.Roles().Lister()}, &rbac.RoleBindingLister{Lister: a.bindings},
		&rbac.ClusterRoleGetter{Lister: a.clusterRoles}, &rbac.ClusterRoleBindingLister{Lister: access.ClusterRoleBindings().Lister()})
}

// Authorize calls the wrapped authorizer, and checks further if the request would turn the user
// into a service account.
func (a *actAs) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(ctx, request)
	if decision != authorizer.DecisionAllow || !becomesAccount(request) {
		return decision, reason, err
	}
	more, err := a.doesMore(ctx, request.GetUser(), request.GetNamespace(), request.GetName())
	if more != "" || err != nil {
		return authorizer.DecisionDeny, more, err
	}
	return decision, reason, nil
}

func becomesAccount(request authorizer.Attributes) bool {
	if !request.IsResourceRequest() || request.GetResource() != "serviceaccounts" || request.GetName() == "" {
		return false
	}
	return request.GetSubresource() == "token" || strings.HasPrefix(request.GetVerb(), "impersonate")
}

// doesMore names a right that the account has and the user lacks. It returns "" if the user may
// become the account.
func (a *actAs) doesMore(ctx context.Context, by user.Info, namespace, name string) (string, error) {
	if slices.Contains(by.GetGroups(), user.SystemPrivilegedGroup) {
		return "", nil
	}
	escalate := authorizer.AttributesRecord{User: by, Verb: "escalate", Resource: "serviceaccounts", APIVersion: "v1", Namespace: namespace, Name: name, ResourceRequest: true}
	if decision, _, err := a.Authorizer.Authorize(ctx, escalate); err == nil && decision == authorizer.DecisionAllow {
		return "", nil
	}
	account := serviceaccount.UserInfo(namespace, name, "")
	extended := &user.DefaultInfo{Name: account.GetName(), Groups: append(slices.Clone(account.GetGroups()), user.AllAuthenticated)}
	namespaces, err := a.boundIn(extended, namespace)
	if err != nil {
		return "", fmt.Errorf("find what the service account %s/%s may do: %w", namespace, name, err)
	}
	for _, in := range namespaces {
		its, err := a.rules.RulesFor(ctx, extended, in)
		if err != nil {
			return "", fmt.Errorf("find what the service account %s/%s may do: %w", namespace, name, err)
		}
		// An error here only hides some of the user's own rights, so the check stays strict.
		own, _ := a.rules.RulesFor(ctx, by, in)
		if covered, missing := rbaccoverage.Covers(append(own, a.everybodys()...), its); !covered {
			return fmt.Sprintf("the service account %s/%s has rights that %s lacks, in %s for example %s", namespace, name, by.GetName(), place(in), firstOf(missing)), nil
		}
	}
	return "", nil
}

// everybodys returns the rules that every account has.
func (a *actAs) everybodys() []rbacv1.PolicyRule {
	role, err := a.clusterRoles.Get(everyAccounts)
	if err != nil {
		return nil
	}
	return role.Rules
}

// boundIn lists the namespaces in which an account can have roles; "" stands for the whole cluster.
func (a *actAs) boundIn(account user.Info, own string) ([]string, error) {
	all, err := a.bindings.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	namespaces := []string{"", own}
	for _, binding := range all {
		if !slices.Contains(namespaces, binding.Namespace) && slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return names(s, account, binding.Namespace) }) {
			namespaces = append(namespaces, binding.Namespace)
		}
	}
	return namespaces, nil
}

// names reports whether a binding's subject is the account or one of its groups.
func names(s rbacv1.Subject, account user.Info, bindingNamespace string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == account.GetName()
	case rbacv1.GroupKind:
		return slices.Contains(account.GetGroups(), s.Name)
	}
	return s.Kind == rbacv1.ServiceAccountKind &&
		serviceaccount.MatchesUsername(cmp.Or(s.Namespace, bindingNamespace), s.Name, account.GetName())
}

func place(namespace string) string {
	if namespace == "" {
		return "the cluster"
	}
	return "namespace " + namespace
}

func firstOf(rules []rbacv1.PolicyRule) string {
	rule := rules[0]
	what := rule.Resources
	if len(rule.NonResourceURLs) > 0 {
		what = rule.NonResourceURLs
	}
	return strings.Join(rule.Verbs, ",") + " " + strings.Join(what, ",")
}

// tokenSecretsPlugin is the name of the admission plugin that checks Secrets that ask for a token.
const tokenSecretsPlugin = "YubaTokenSecrets"

// tokenSecrets refuses a Secret that asks for a token of an account with more rights than its
// author.
type tokenSecrets struct {
	*admission.Handler
	actAs *actAs
}

// register adds the plugin.
func (a *actAs) register(plugins *admission.Plugins) {
	plugins.Register(tokenSecretsPlugin, func(io.Reader) (admission.Interface, error) {
		return &tokenSecrets{admission.NewHandler(admission.Create, admission.Update), a}, nil
	})
}

// Validate implements admission.ValidationInterface.
func (t *tokenSecrets) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	secret, ok := request.GetObject().(*core.Secret)
	if !ok || secret.Type != core.SecretTypeServiceAccountToken {
		return nil
	}
	more, err := t.actAs.doesMore(ctx, request.GetUserInfo(), request.GetNamespace(), secret.Annotations[corev1.ServiceAccountNameKey])
	if err != nil {
		return err
	}
	if more != "" {
		return admission.NewForbidden(request, fmt.Errorf("%s. Ask a person who has these rights", more))
	}
	return nil
}
