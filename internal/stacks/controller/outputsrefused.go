// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// maxOutputs is the API's limit for the data of a Secret.
const maxOutputs = corev1.MaxSecretSize

// largestNamed is how many of the largest outputs a message names.
const largestNamed = 3

// fitsIntoSecret names the largest outputs when they do not fit. The API would refuse them without
// naming any.
func fitsIntoSecret(obj *infrav1.Terraform, data map[string][]byte) error {
	total := 0
	names := make([]string, 0, len(data))
	for name, value := range data {
		total += len(value)
		names = append(names, name)
	}
	if total <= maxOutputs {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(data[b]), len(data[a])), strings.Compare(a, b))
	})
	largest := make([]string, min(len(names), largestNamed))
	for i := range largest {
		largest[i] = fmt.Sprintf("%s (%d bytes)", names[i], len(data[names[i]]))
	}
	return fmt.Errorf("write outputs to Secret %s/%s: they have %d bytes, and a Secret holds %d. The largest: %s. "+
		"Nothing was written. Name the outputs to write in spec.writeOutputsToSecret.outputs, or have the program put large values elsewhere. "+
		"`yuba outputs %s -n %s` shows all of them", obj.Namespace, obj.Spec.WriteOutputsToSecret.Name, total, maxOutputs,
		strings.Join(largest, ", "), obj.Name, obj.Namespace)
}

// mayPass reports whether an error is an outage of the API or a race, which no change of objects
// has to end. No answer counts as an outage.
func mayPass(err error) bool {
	var foreign *foreignSecretError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &foreign):
		return false
	case !errors.As(err, &status), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsUnauthorized(err)
}
