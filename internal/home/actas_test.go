// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	rbaccoverage "k8s.io/component-helpers/auth/rbac/validation"
)

// as is a client of a user of that name.
func as(t *testing.T, user string) *kubernetes.Clientset {
	t.Helper()
	config := shared.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bind gives a subject a cluster role, in the namespace or, when that is empty, everywhere.
func bind(t *testing.T, namespace, role string, subject rbacv1.Subject) {
	t.Helper()
	client := clientOf(t, shared).RbacV1()
	meta := metav1.ObjectMeta{GenerateName: "test-"}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	var err error
	if namespace == "" {
		_, err = client.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{subject}, RoleRef: ref}, metav1.CreateOptions{})
	} else {
		_, err = client.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{subject}, RoleRef: ref}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func userNamed(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}
}

// account makes a service account.
func account(t *testing.T, namespace, name string) rbacv1.Subject {
	t.Helper()
	_, err := clientOf(t, shared).CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
}

// ways are those to become an account. Each returns nil when it led there.
var ways = map[string]func(t *testing.T, client *kubernetes.Clientset, user, namespace, name string) error{
	"a token request": func(t *testing.T, client *kubernetes.Clientset, _, namespace, name string) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	},
	"a Secret": func(t *testing.T, client *kubernetes.Clientset, _, namespace, name string) error {
		_, err := client.CoreV1().Secrets(namespace).Create(t.Context(), tokenSecret(name), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	},
	// The user of these tests is impersonated already, so the question is put to the authorizer.
	"impersonation": func(t *testing.T, _ *kubernetes.Clientset, user, namespace, name string) error {
		return mayImpersonate(t, user, namespace, name)
	},
}

func tokenSecret(account string) *corev1.Secret {
	return &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken,
		ObjectMeta: metav1.ObjectMeta{GenerateName: "token-", Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}}
}

func mayImpersonate(t *testing.T, user, namespace, name string) error {
	t.Helper()
	review := reviewOf(user, namespace, "impersonate", "serviceaccounts")
	review.Spec.ResourceAttributes.Name, review.Spec.Groups = name, []string{"system:authenticated"}
	got, err := clientOf(t, shared).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Status.Allowed {
		return apierrors.NewForbidden(corev1.Resource("serviceaccounts"), name, fmt.Errorf("%s", got.Status.Reason))
	}
	return nil
}

// A holder of a default role in a namespace cannot act as an account there that may do more. Each
// way is tried for each pair of roles.
func TestNoRoleMakesATokenOfAStrongerAccount(t *testing.T) {
	namespace := newNamespace(t, shared)
	all, err := clientOf(t, shared).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Roles that every authenticated user has, or every service account.
	common := []string{"system:basic-user", "system:discovery", "system:public-info-viewer", everyAccounts, "yuba:web"}
	var everyones []rbacv1.PolicyRule
	var minters []rbacv1.ClusterRole
	for i, role := range all.Items {
		if slices.Contains(common, role.Name) {
			everyones = append(everyones, role.Rules...)
		}
		bind(t, namespace, role.Name, account(t, namespace, fmt.Sprint("account-", i)))
		if mayMint(role.Rules) {
			minters = append(minters, role)
			bind(t, namespace, role.Name, userNamed("holder:"+role.Name))
		}
	}
	if len(minters) < 4 {
		t.Fatalf("only %d roles may request tokens or write Secrets: the test looks at the wrong ones", len(minters))
	}
	stronger, weaker := 0, 0
	for _, holder := range minters {
		user := "holder:" + holder.Name
		client := as(t, user)
		eventually(t, "the binding is known", func() error { return known(t, user, namespace, holder.Rules) })
		for i, role := range all.Items {
			covered, _ := rbaccoverage.Covers(append(slices.Clone(holder.Rules), everyones...), role.Rules)
			for way, try := range ways {
				err := try(t, client, user, namespace, fmt.Sprint("account-", i))
				switch {
				case err == nil && !covered:
					t.Errorf("who holds %s becomes an account with %s by %s", holder.Name, role.Name, way)
				case err == nil:
					weaker++
				case !apierrors.IsForbidden(err):
					t.Errorf("%s, %s, %s: %v", holder.Name, role.Name, way, err)
				case !covered:
					stronger++
				}
			}
		}
	}
	if stronger == 0 || weaker == 0 {
		t.Errorf("%d attempts at stronger accounts were refused and %d at weaker ones went through: want some of both", stronger, weaker)
	}
}

// mayMint says whether rules allow one of the ways at all.
func mayMint(rules []rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
		return has(r.APIGroups, "") && (has(r.Resources, "serviceaccounts/token") && has(r.Verbs, "create") ||
			has(r.Resources, "serviceaccounts") && has(r.Verbs, "impersonate") || has(r.Resources, "secrets") && (has(r.Verbs, "create") || has(r.Verbs, "update")))
	})
}

// known waits for a binding: the first of the rules that names one resource of the core is asked
// for.
func known(t *testing.T, user, namespace string, rules []rbacv1.PolicyRule) error {
	t.Helper()
	for _, r := range rules {
		if len(r.ResourceNames) > 0 || len(r.Resources) == 0 || strings.Contains(r.Resources[0], "/") {
			continue
		}
		review := reviewOf(user, namespace, r.Verbs[0], r.Resources[0])
		review.Spec.ResourceAttributes.Group = r.APIGroups[0]
		got, err := clientOf(t, shared).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err == nil && !got.Status.Allowed {
			err = fmt.Errorf("%s may not %s %s yet", user, r.Verbs[0], r.Resources[0])
		}
		return err
	}
	return nil
}

func TestAnAccountsRightsElsewhereCount(t *testing.T) {
	home, elsewhere := newNamespace(t, shared), newNamespace(t, shared)
	for _, name := range []string{"plain", "abroad", "everywhere", "strong"} {
		subject := account(t, home, name)
		switch name {
		case "abroad":
			bind(t, elsewhere, "view", subject)
		case "everywhere":
			bind(t, "", "view", subject)
		case "strong":
			bind(t, home, "admin", subject)
		}
	}
	bind(t, home, "edit", userNamed("editor-at-home"))
	bind(t, home, "edit", userNamed("editor-of-both"))
	bind(t, elsewhere, "edit", userNamed("editor-of-both"))
	bind(t, home, "admin", userNamed("admin-at-home"))
	bind(t, "", "cluster-admin", userNamed("admin-of-all"))
	const yes, no = true, false
	for sentence, test := range map[string]struct {
		user, account string
		want          bool
	}{
		"an editor becomes an account without rights":             {"editor-at-home", "plain", yes},
		"an editor does not become the namespace's administrator": {"editor-at-home", "strong", no},
		"its administrator does":                                  {"admin-at-home", "strong", yes},
		"rights in another namespace count":                       {"editor-at-home", "abroad", no},
		"for who has them there, they are no obstacle":            {"editor-of-both", "abroad", yes},
		"rights in all namespaces count":                          {"editor-of-both", "everywhere", no},
		"an administrator of all becomes any":                     {"admin-of-all", "everywhere", yes},
	} {
		t.Run(sentence, func(t *testing.T) {
			for way, try := range ways {
				eventually(t, "the answer by "+way+" is as expected", func() error {
					err := try(t, as(t, test.user), test.user, home, test.account)
					if (err == nil) != test.want || err != nil && !apierrors.IsForbidden(err) {
						return fmt.Errorf("%v", err)
					}
					if err != nil && !strings.Contains(err.Error(), "has rights that "+test.user+" lacks") {
						return fmt.Errorf("it does not say why: %w", err)
					}
					return nil
				})
			}
		})
	}
}

// The name of the account in a Secret may be changed after the Secret was made.
func TestASecretIsNotTurnedToAnotherAccount(t *testing.T) {
	namespace := newNamespace(t, shared)
	account(t, namespace, "plain")
	bind(t, namespace, "admin", account(t, namespace, "strong"))
	bind(t, namespace, "edit", userNamed("turner"))
	secrets := as(t, "turner").CoreV1().Secrets(namespace)
	var made *corev1.Secret
	eventually(t, "the binding is known", func() (err error) {
		made, err = secrets.Create(t.Context(), tokenSecret("plain"), metav1.CreateOptions{})
		return err
	})
	eventually(t, "the Secret is refused for being turned, not for having changed", func() error {
		current, err := secrets.Get(t.Context(), made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Annotations = map[string]string{corev1.ServiceAccountNameKey: "strong"}
		delete(current.Data, "token")
		if _, err = secrets.Update(t.Context(), current, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the Secret was turned to another account: %v", err)
		}
		return nil
	})
}
