// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	_ "embed"
	"fmt"

	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

//go:embed audit.yaml
var auditPolicy []byte

// The audit log keeps at most a gigabyte.
const (
	auditMegabytes = 100
	auditFiles     = 10
)

// audit configures the audit log, if one was requested. The API server writes each record before it
// answers the request.
func (o Options) audit(k *keys, to *genericoptions.AuditOptions) error {
	if o.AuditLog == "" {
		return nil
	}
	to.LogOptions.Path, to.LogOptions.MaxSize, to.LogOptions.MaxBackups = o.AuditLog, auditMegabytes, auditFiles-1
	if to.PolicyFile = o.AuditPolicy; to.PolicyFile != "" {
		return nil
	}
	to.PolicyFile = k.path("audit.yaml")
	if err := datadir.WriteFile(to.PolicyFile, auditPolicy, 0o600); err != nil {
		return fmt.Errorf("write the audit log's policy: %w", err)
	}
	return nil
}
