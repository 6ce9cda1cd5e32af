// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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

// complete returns when the API is ready for users: healthy, with default namespace and service
// account.
func complete(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := until(ctx, "the API server is ready", func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Error()
	}); err != nil {
		return err
	}
	return until(ctx, "the default service account exists", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
