// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// CredentialsError says that a kubeconfig has a certificate or key that cannot be read.
type CredentialsError struct{ error }

func (e *CredentialsError) Unwrap() error { return e.error }

// Open makes a client for the cluster of a kubeconfig, and what knows its kinds. The error is a *CredentialsError when it is
// the kubeconfig's.
func Open(config *rest.Config, scheme *runtime.Scheme) (client.Client, meta.RESTMapper, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, &CredentialsError{err}
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, nil, err
	}
	made, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: httpClient})
	return made, mapper, err
}
