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

// CredentialsError means that a certificate or key of a kubeconfig is invalid.
type CredentialsError struct{ error }

func (e *CredentialsError) Unwrap() error { return e.error }

// Open returns a client and a mapper for the cluster of a kubeconfig. It returns a
// *CredentialsError if the kubeconfig is wrong.
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
