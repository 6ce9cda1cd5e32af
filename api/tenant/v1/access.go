// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// defaultInterval is how often rows are read when the definition has not filled that in.
	defaultInterval = 30 * time.Second
	// shortestInterval keeps "0s" from asking without a pause.
	shortestInterval = time.Second
	// longestInterval is far longer than anybody means, and far from an overflow.
	longestInterval = 365 * 24 * time.Hour

	defaultDeadline = 600 * time.Second
)

// Interval is how often the rows are read: what the text says, but at least a second and at most a year.
func (s *DataSource) Interval() time.Duration {
	if s.SyncInterval == "" {
		return defaultInterval
	}
	d, err := time.ParseDuration(s.SyncInterval)
	if err != nil {
		// The definition lets digits and a unit pass, so there are too many of them.
		return longestInterval
	}
	return min(max(d, shortestInterval), longestInterval)
}

// MaxDelete is how many of the tenants may go in one reading, in percent.
func (p *Protection) MaxDelete() int {
	if p == nil {
		return DefaultMaxDeletePercent
	}
	return int(ptr.Deref(p.MaxDeletePercent, DefaultMaxDeletePercent))
}

// Grace is how long a tenant stays whose row is inactive or gone.
func (p *Protection) Grace() time.Duration {
	if p == nil || p.GracePeriod == nil {
		return 0
	}
	return p.GracePeriod.Duration
}

// Skew is how many tenants may be on their way to a change at a time; 0 for any number.
func (r *Rollout) Skew() int {
	if r == nil {
		return 0
	}
	return int(r.MaxSkew)
}

// Deadline is how long a tenant may take to be ready after a change.
func (r *Rollout) Deadline() time.Duration {
	if r == nil || r.ProgressDeadlineSeconds == 0 {
		return defaultDeadline
	}
	return time.Duration(r.ProgressDeadlineSeconds) * time.Second
}

// Timeout is how long the object may take to be ready.
func (r *TResource) Timeout() time.Duration {
	if r.TimeoutSeconds == 0 {
		return DefaultTimeoutSeconds * time.Second
	}
	return time.Duration(r.TimeoutSeconds) * time.Second
}

// Registry is the name of the tenant's registry, which is in its namespace.
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
