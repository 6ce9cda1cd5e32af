// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// maxName is the maximum length of any object's name.
const maxName = validation.DNS1123SubdomainMaxLength

// Client is a client that returns NotFound for invalid names.
type Client struct{ client.Client }

// New creates the client of a manager, with the signature of its option NewClient.
func New(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return Client{c}, nil
}

// Get reads an object. For an invalid name it returns an error that apierrors.IsNotFound
// recognises.
func (c Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if possible(key.Name) && (key.Namespace == "" || possible(key.Namespace)) {
		return c.Client.Get(ctx, key, obj, options...)
	}
	kind, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return apierrors.NewNotFound(schema.GroupResource{Group: resource.Group, Resource: resource.Resource}, key.Name)
}

func possible(name string) bool {
	return name != "" && len(name) <= maxName && len(content.IsPathSegmentName(name)) == 0
}
