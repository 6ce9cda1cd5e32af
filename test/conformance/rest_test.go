// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// restClient is a client that does not decode responses.
func restClient(config *rest.Config) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &infrav1.GroupVersion, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(kubetest.Scheme()).WithoutConversion()
	return rest.RESTClientFor(c)
}
