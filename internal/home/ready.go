// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	baseversion "k8s.io/component-base/version"
)

// readyPatience is how long the API may take to become ready before Start gives up. A loaded
// machine needs seconds.
const readyPatience = 2 * time.Minute

// until retries ask until it succeeds, the context ends or readyPatience is over.
func until(ctx context.Context, what string, ask func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 15*time.Millisecond, readyPatience, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, errors.Join(err, last))
	}
	return nil
}

// answering returns when the API server answers at all, ready or not.
func answering(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return until(ctx, "the API server answers", func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/livez/ping").MaxRetries(0).Do(ctx).Error()
	})
}

// annotationRoles is on the namespace kube-system: the version of Kubernetes whose roles are complete.
const annotationRoles = "yuba.dev/roles-of"

// rolesHook compares each of Kubernetes' own roles with the API, one after the other: some 190 requests, and more than half of
// the time of a restart on a busy machine. It goes on in the background.
const rolesHook = "poststarthook/rbac/bootstrap-roles"

// complete returns when the API is ready for users: healthy, with default namespace, service account and roles. Roles of
// an earlier start with the same version are there already.
func complete(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	version := baseversion.Get().GitVersion
	earlier, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the namespace %s: %w", metav1.NamespaceSystem, err)
	}
	had := err == nil && earlier.Annotations[annotationRoles] == version
	if err := until(ctx, "the API server is ready", func(ctx context.Context) error {
		ready := client.RESTClient().Get().AbsPath("/readyz").MaxRetries(0)
		if had {
			ready = ready.Param("exclude", rolesHook)
		}
		return ready.Do(ctx).Error()
	}); err != nil {
		return err
	}
	if !had {
		note := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationRoles, version)
		if _, err := client.CoreV1().Namespaces().Patch(ctx, metav1.NamespaceSystem, types.MergePatchType, note, metav1.PatchOptions{FieldManager: "yuba"}); err != nil {
			return fmt.Errorf("note that the roles are complete: %w", err)
		}
	}
	return until(ctx, "the default service account exists", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
