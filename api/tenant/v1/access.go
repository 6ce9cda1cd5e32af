// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// defaultInterval is the interval if the API server did not default it.
	defaultInterval = 30 * time.Second
	// shortestInterval keeps "0s" from reading without a pause.
	shortestInterval = time.Second
	// longestInterval is longer than any useful value, and far from an overflow.
	longestInterval = 365 * 24 * time.Hour

	defaultDeadline = 600 * time.Second
)

// Interval is how often to read the rows: at least a second and at most a year.
func (s *DataSource) Interval() time.Duration {
	if s.SyncInterval == "" {
		return defaultInterval
	}
	d, err := time.ParseDuration(s.SyncInterval)
	if err != nil {
		// The schema's pattern does not limit the number of digits, so it overflowed.
		return longestInterval
	}
	return min(max(d, shortestInterval), longestInterval)
}

// MaxDelete is the share of tenants that one reading may delete, in percent.
func (p *Protection) MaxDelete() int {
	if p == nil {
		return DefaultMaxDeletePercent
	}
	return int(ptr.Deref(p.MaxDeletePercent, DefaultMaxDeletePercent))
}

// Grace is how long a tenant stays after its row is inactive or gone.
func (p *Protection) Grace() time.Duration {
	if p == nil || p.GracePeriod == nil {
		return 0
	}
	return p.GracePeriod.Duration
}

// Skew is how many tenants may be updated at the same time; 0 for any number.
func (r *Rollout) Skew() int {
	if r == nil {
		return 0
	}
	return int(r.MaxSkew)
}

// Deadline is how long a tenant may take to become ready after a change.
func (r *Rollout) Deadline() time.Duration {
	if r == nil || r.ProgressDeadlineSeconds == 0 {
		return defaultDeadline
	}
	return time.Duration(r.ProgressDeadlineSeconds) * time.Second
}

// Timeout is how long the object may take to become ready.
func (r *TResource) Timeout() time.Duration {
	if r.TimeoutSeconds == 0 {
		return DefaultTimeoutSeconds * time.Second
	}
	return time.Duration(r.TimeoutSeconds) * time.Second
}

// Registry is the name of the tenant's registry, in the same namespace.
func (t *Tenant) Registry() string {
	if name := t.Annotations[AnnotationRegistry]; name != "" {
		return name
	}
	return t.Labels[LabelRegistry]
}

// GetConditions returns the conditions.
func (r *TenantRegistry) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions replaces the conditions.
func (r *TenantRegistry) SetConditions(conditions []metav1.Condition) {
	r.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (t *TenantTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *TenantTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (t *Tenant) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *Tenant) SetConditions(conditions []metav1.Condition) { t.Status.Conditions = conditions }
