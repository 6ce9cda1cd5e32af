// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"

	kengine "github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/statusreaders"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/kit/expression/healthcheck"
)

// waitOptions are for Helm's watcher of statuses: the expressions of spec.healthCheckExprs come before the
// conventions of Kubernetes.
func (o *operation) waitOptions(ctx context.Context) ([]kube.WaitOption, error) {
	if len(o.call.Options.HealthChecks) == 0 {
		return nil, nil
	}
	var list []kustomize.CustomHealthCheck
	err := json.Unmarshal(o.call.Options.HealthChecks, &list)
	if err != nil {
		return nil, failed(wire.FailedValues, "read spec.healthCheckExprs: %w", err)
	}
	checks, err := healthcheck.New(list)
	if err != nil {
		return nil, failed(wire.FailedValues, "%w", err)
	}
	mapper, err := o.cluster.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	compute := func(u *unstructured.Unstructured) (*status.Result, error) {
		result, err := checks.Status(ctx, u)
		if err != nil {
			// A field may be missing until the object's controller has written it: Helm waits.
			return &status.Result{Status: status.InProgressStatus, Message: err.Error()}, nil
		}
		return result, nil
	}
	return []kube.WaitOption{kube.WithKStatusReaders(reader{statusreaders.NewGenericStatusReader(mapper, compute), checks})}, nil
}

// reader reads the statuses of kinds that have checks.
type reader struct {
	kengine.StatusReader
	checks healthcheck.Checks
}

// Supports implements StatusReader.
func (r reader) Supports(gk schema.GroupKind) bool { return r.checks.Has(gk) }
