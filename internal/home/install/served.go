// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is far longer than the API needs to serve a kind: one or two seconds on a busy machine.
const patience = 30 * time.Second

// waitServed returns when discovery shows all served versions of the kind, which follows its
// condition Established.
func waitServed(ctx context.Context, client *apiextensions.Clientset, name string) error {
	crd, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("wait until kind %s is served: %w", name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, 25*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		for _, version := range crd.Spec.Versions {
			if version.Served && !isDiscovered(ctx, client, crd, version.Name) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until kind %s is served: %s: %w", name, whyNotServed(client, name), err)
	}
	return nil
}

// whyNotServed reads the reason from the kind's conditions.
func whyNotServed(client *apiextensions.Clientset, name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	crd, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Status == apiextensionsv1.ConditionFalse {
			return condition.Message
		}
	}
	return "discovery does not show it"
}

// isDiscovered asks once, without client retries: a starting server asks clients to retry after
// five seconds, and the client would wait.
func isDiscovered(ctx context.Context, client *apiextensions.Clientset, crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	list := &metav1.APIResourceList{}
	err := client.ApiextensionsV1().RESTClient().Get().AbsPath("/apis", crd.Spec.Group, version).MaxRetries(0).Do(ctx).Into(list)
	return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == crd.Spec.Names.Plural })
}
