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

// How much of the audit log is kept: a gigabyte.
const (
	auditMegabytes = 100
	auditFiles     = 10
)

// audit makes the API server record requests, if that is wanted. Each record is written before its request is answered.
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
