// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"errors"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

// gone is nil when err says that the object is not there.
func gone(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("it is still there")
	default:
		return err
	}
}

func TestOwnedObjectGoesWithItsOwner(t *testing.T) {
	maps := clientOf(t, shared).CoreV1().ConfigMaps(newNamespace(t, shared))
	owner, err := maps.Create(t.Context(), configMap("owner"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = maps.Create(t.Context(), configMap("owned", metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owned ConfigMap is gone", func() error {
		_, err := maps.Get(t.Context(), "owned", metav1.GetOptions{})
		return gone(err)
	})
}

func TestDeletedNamespaceReallyGoes(t *testing.T) {
	name := newNamespace(t, shared)
	client := clientOf(t, shared).CoreV1()
	if _, err := client.ConfigMaps(name).Create(t.Context(), configMap("content"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace is gone", func() error {
		_, err := client.Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return gone(err)
	})
}

func TestEveryNamespaceHasServiceAccountAndRootCertificate(t *testing.T) {
	namespace := newNamespace(t, shared)
	client := clientOf(t, shared).CoreV1()
	eventually(t, "the default service account is there", func() error {
		_, err := client.ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	eventually(t, "the root certificate is there", func() error {
		got, err := client.ConfigMaps(namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil && got.Data["ca.crt"] != string(shared.CA()) {
			return fmt.Errorf("it holds %q", got.Data["ca.crt"])
		}
		return err
	})
}

// whoAmI asks the API whom it takes the bearer of the token for.
func whoAmI(t *testing.T, token string) (string, error) {
	t.Helper()
	config := rest.AnonymousClientConfig(shared.RESTConfig())
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

func TestServiceAccountTokens(t *testing.T) {
	namespace := newNamespace(t, shared)
	client := clientOf(t, shared).CoreV1()
	eventually(t, "the default service account is there", func() error {
		_, err := client.ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	want := "system:serviceaccount:" + namespace + ":default"

	t.Run("a requested token works", func(t *testing.T) {
		request, err := client.ServiceAccounts(namespace).CreateToken(t.Context(), "default",
			&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := whoAmI(t, request.Status.Token); err != nil || got != want {
			t.Errorf("the token's bearer is %q, error %v, want %q", got, err, want)
		}
	})
	t.Run("a Secret for a token is filled and works", func(t *testing.T) {
		secret := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{
			Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}}
		if _, err := client.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var token string
		eventually(t, "the Secret holds a token", func() error {
			got, err := client.Secrets(namespace).Get(t.Context(), "token", metav1.GetOptions{})
			if err == nil && len(got.Data["token"]) == 0 {
				return errors.New("it holds none")
			}
			if err == nil {
				token = string(got.Data["token"])
			}
			return err
		})
		if got, err := whoAmI(t, token); err != nil || got != want {
			t.Errorf("the token's bearer is %q, error %v, want %q", got, err, want)
		}
	})
	t.Run("a token of somebody else is refused", func(t *testing.T) {
		if _, err := whoAmI(t, "not-a-token"); !apierrors.IsUnauthorized(err) {
			t.Errorf("error %v, want unauthorized", err)
		}
	})
}

func TestQuotaLimitsNumbersOfObjects(t *testing.T) {
	namespace := newNamespace(t, shared)
	client := clientOf(t, shared).CoreV1()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"secrets": resource.MustParse("1"), "count/leases.coordination.k8s.io": resource.MustParse("5")}}}
	if _, err := client.ResourceQuotas(namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := func(name string) error {
		_, err := client.Secrets(namespace).Create(t.Context(),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	// A quota counts from the moment its status knows what it limits.
	eventually(t, "the quota is in force", func() error {
		got, err := client.ResourceQuotas(namespace).Get(t.Context(), "few", metav1.GetOptions{})
		if err == nil && len(got.Status.Hard) == 0 {
			return errors.New("its status is empty")
		}
		return err
	})
	if err := secret("one"); err != nil {
		t.Fatalf("first Secret: %v", err)
	}
	if err := secret("two"); !apierrors.IsForbidden(err) {
		t.Fatalf("second Secret: %v, want forbidden", err)
	}
	eventually(t, "the quota's status counts one Secret", func() error {
		got, err := client.ResourceQuotas(namespace).Get(t.Context(), "few", metav1.GetOptions{})
		if err != nil {
			return err
		}
		used := got.Status.Used["secrets"]
		if used.Value() != 1 {
			return fmt.Errorf("it counts %s", used.String())
		}
		return nil
	})
	if err := client.Secrets(namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is room for the second Secret", func() error { return secret("two") })
}
