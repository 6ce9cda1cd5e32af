// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// ServiceHost is the name of a Service in its cluster.
func ServiceHost(s types.NamespacedName) string { return s.Name + "." + s.Namespace + ".svc" }

// contentAPI is the name of the APIService by which a cluster's API server serves content.
const contentAPI = content.Version + "." + content.Group

// Priorities of the group among others, as for custom resources.
const groupPriority, versionPriority = 1000, 15

// registerContent has the cluster's API server pass on requests for content to the Service, so that
// every client of the cluster reaches it.
func registerContent(ctx context.Context, c client.Client, service types.NamespacedName, address string, ca []byte) error {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("read the address of content: %w", err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("read the port of content: %w", err)
	}
	spec := apiregistrationv1.APIServiceSpec{Group: content.Group, Version: content.Version, CABundle: ca,
		GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority,
		Service: &apiregistrationv1.ServiceReference{Namespace: service.Namespace, Name: service.Name, Port: ptr.To(int32(port))}}
	// The API server writes its status all the time.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error { return keepAPIService(ctx, c, spec) })
	if err != nil {
		return fmt.Errorf("register content with the API server (APIService %s): %w", contentAPI, err)
	}
	return nil
}

func keepAPIService(ctx context.Context, c client.Client, spec apiregistrationv1.APIServiceSpec) error {
	var have apiregistrationv1.APIService
	err := c.Get(ctx, client.ObjectKey{Name: contentAPI}, &have)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: contentAPI}, Spec: spec})
	}
	if err != nil || equality.Semantic.DeepEqual(have.Spec, spec) {
		return err
	}
	have.Spec = spec
	return c.Update(ctx, &have)
}

// servesContentItself reports whether the API server is that of an embedded home, which serves
// content itself.
func servesContentItself(ctx context.Context, c client.Client) (bool, error) {
	var have apiregistrationv1.APIService
	err := c.Get(ctx, client.ObjectKey{Name: contentAPI}, &have)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find who serves Yuba's content on this API: %w", err)
	}
	return have.Spec.Service == nil, nil
}
