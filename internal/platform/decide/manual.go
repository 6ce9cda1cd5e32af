// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Manual are the records of a region that people create.
type Manual struct {
	Region string
	// Records are empty while the addresses are not known.
	Records []yubav1.PlatformRecord
}

// state is the state of a phase that waits for people.
func (m *Manual) state() (yubav1.PlatformPhaseState, string) {
	if len(m.Records) == 0 {
		return yubav1.PhaseWaiting, "waits for the addresses of the machines"
	}
	missing, unknown := pick(m.Records, yubav1.RecordMissing), pick(m.Records, yubav1.RecordUnknown)
	switch {
	case len(missing) > 0:
		return yubav1.PhaseWaiting, fmt.Sprintf("waits for DNS records that people create, %d of %d: %s. All of them: yuba bootstrap status", len(missing), len(m.Records), TextOf(&missing[0]))
	case len(unknown) > 0 && unknown[0].Message == "":
		return yubav1.PhaseWaiting, "waits until the resolver was asked for the DNS records"
	case len(unknown) > 0:
		return yubav1.PhaseWaiting, "waits for DNS records, and cannot check them: " + unknown[0].Message + ". Set spec.domain.manual.resolver, or spec.domain.manual.wait to false"
	}
	return yubav1.PhaseReady, ""
}

// TextOf is a record with what is wrong with it, on one line.
func TextOf(r *yubav1.PlatformRecord) string {
	text := r.Name + " " + r.Type + " " + strings.Join(r.Addresses, ",")
	if r.Message != "" {
		text += " (" + r.Message + ")"
	}
	return text
}

func pick(records []yubav1.PlatformRecord, state yubav1.PlatformRecordState) (list []yubav1.PlatformRecord) {
	for _, r := range records {
		if r.State == state {
			list = append(list, r)
		}
	}
	return list
}

// Present decides the condition RecordsPresent; an empty reason if there are no records.
func Present(records []yubav1.PlatformRecord) (status metav1.ConditionStatus, reason, message string) {
	missing, unknown := pick(records, yubav1.RecordMissing), pick(records, yubav1.RecordUnknown)
	switch {
	case len(records) == 0:
		return "", "", ""
	case len(missing) > 0:
		return metav1.ConditionFalse, yubav1.ReasonRecordsMissing, fmt.Sprintf("Create these DNS records, %d of %d: %s", len(missing), len(records), textOf(missing))
	case len(unknown) > 0 && unknown[0].Message == "":
		return metav1.ConditionUnknown, yubav1.ReasonRecordsAsked, fmt.Sprintf("%d DNS records are needed; the resolver is asked for them", len(records))
	case len(unknown) > 0:
		return metav1.ConditionUnknown, yubav1.ReasonRecordsUnknown, fmt.Sprintf("Yuba cannot ask for %d of %d DNS records: %s. Set spec.domain.manual.resolver", len(unknown), len(records), unknown[0].Message)
	}
	return metav1.ConditionTrue, yubav1.ReasonRecordsPresent, fmt.Sprintf("All %d DNS records exist", len(records))
}

// textOf lists records; the status has all of them.
func textOf(records []yubav1.PlatformRecord) string {
	const most = 6
	var texts []string
	for i := range records[:min(len(records), most)] {
		texts = append(texts, TextOf(&records[i]))
	}
	if more := len(records) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more in status.records", more))
	}
	return strings.Join(texts, "; ")
}
