// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reasons of the condition Ready of pools and claims, and of their events. Claims also have the reasons
// NameTaken, ServerUnreachable and ZoneNotFound of failover records.
const (
	// ReasonPoolReady: names of the pool can be claimed.
	ReasonPoolReady = "Available"
	// ReasonPoolInvalid: the spec or its Secret is wrong.
	ReasonPoolInvalid = "InvalidPool"
	// ReasonPoolInUse is of deleted pools: claims need it.
	ReasonPoolInUse = "InUse"

	// ReasonClaimReserved: the name is reserved, and waits for addresses.
	ReasonClaimReserved = "Reserved"
	// ReasonClaimCommitted: the records exist.
	ReasonClaimCommitted = "Committed"
	// ReasonClaimExpired: the reservation is over.
	ReasonClaimExpired = "ReservationExpired"
	// ReasonClaimPool: the pool does not exist, is deleted, or does not accept claims of the namespace.
	ReasonClaimPool = "PoolNotAvailable"
	// ReasonClaimName: the name breaks a rule of names.
	ReasonClaimName = "InvalidName"
	// ReasonClaimReservedName: nobody can claim the name.
	ReasonClaimReservedName = "NameReserved"
	// ReasonClaimAddresses: the addresses are not addresses.
	ReasonClaimAddresses = "InvalidAddresses"
	// ReasonClaimContended: somebody else claims the name at the same moment.
	ReasonClaimContended = "NameContended"
	// ReasonClaimMissing: records that are created manually do not exist yet, or are wrong.
	ReasonClaimMissing = "RecordsMissing"
	// ReasonClaimRepaired is of events only: records were changed by somebody else, and written again.
	ReasonClaimRepaired = "RecordsRepaired"
	// ReasonClaimAddressesChanged is of events only: the records lead to other addresses.
	ReasonClaimAddressesChanged = "AddressesChanged"
)

// GetConditions returns the conditions of the status.
func (p *SubdomainPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (p *SubdomainPool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// GetConditions returns the conditions of the status.
func (c *SubdomainClaim) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (c *SubdomainClaim) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// SubdomainPoolList is a list of pools.
//
// +kubebuilder:object:root=true
type SubdomainPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SubdomainPool `json:"items"`
}

// SubdomainClaimList is a list of claims.
//
// +kubebuilder:object:root=true
type SubdomainClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SubdomainClaim `json:"items"`
}
