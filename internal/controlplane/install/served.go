// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is far more than the second or two a kind takes on a busy machine.
const patience = 30 * time.Second

// waitServed returns when the kind is established and discovery shows it in all its served versions.
func waitServed(ctx context.Context, client *apiextensions.Clientset, crd *apiextensionsv1.CustomResourceDefinition) error {
	reason := "it is not there"
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		current, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			reason = err.Error()
			return false, nil
		}
		var established bool
		if established, reason = isEstablished(current); !established {
			return false, nil
		}
		for _, version := range crd.Spec.Versions {
			if version.Served && !isDiscovered(client, crd, version.Name) {
				reason = "discovery does not show version " + version.Name
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until kind %s is served: %s: %w", crd.Name, reason, err)
	}
	return nil
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) (established bool, reason string) {
	reason = "it is not established yet"
	for _, condition := range crd.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse:
			return false, condition.Message
		case condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue:
			established = true
		}
	}
	return established, reason
}

func isDiscovered(client *apiextensions.Clientset, crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	list, err := client.Discovery().ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version)
	if err != nil {
		return false
	}
	for _, resource := range list.APIResources {
		if resource.Name == crd.Spec.Names.Plural {
			return true
		}
	}
	return false
}
