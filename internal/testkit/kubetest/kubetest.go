// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubetest connects tests to the API that a kubeconfig names. It links no control plane:
// package apitest starts one.
package kubetest

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Scheme returns a scheme of all kinds that Yuba serves or reads.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, infrav1.AddToScheme,
		tenantv1.AddToScheme, appv1.AddToScheme, externalv1.AddToScheme, yubav1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme, helmv2.AddToScheme, imagev1.AddToScheme, automationv1.AddToScheme, notificationv1.AddToScheme, notificationv1beta3.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// Config reads a kubeconfig. The client does not limit its requests: tests poll.
func Config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Client returns a client of all kinds for the API of a kubeconfig.
func Client(kubeconfig string) (client.WithWatch, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: Scheme()})
}
