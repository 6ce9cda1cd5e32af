// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command standin replaces the providers in examples/tenants and examples/applications: hashicorp/aws, hashicorp/random,
// Mongey/kafka, cyrilgdn/rabbitmq and cyrilgdn/postgresql. It serves the resource types of those
// programs, with the arguments and attributes that they use, and stores the resources in the cloud
// of package test/cloud. It has no data sources, because the programs use none.
//
// Terms:
//
//   - A table is what one provider serves: the arguments of its block, and its kinds. The name of
//     the executable selects the table: terraform-provider-kafka_v0.7.0 serves kafka.
//   - A kind is one resource type: its attributes, its blocks, the cloud's response, and what the
//     cloud refuses.
//   - A table may also be in a file, for tests of what plans say about any provider (see envTables).
//   - A pattern computes a response from the arguments: "arn:aws:s3:::{bucket}".
//
// Invariants:
//
//   - It finds the cloud and authenticates like the real provider: by the provider's endpoint and
//     password, or by the environment variables that the real provider reads. Missing credentials
//     are an error.
//   - Like the real services, it refuses a name that is taken, and other known errors in such
//     programs.
//   - The readable content of an object in the cloud never contains sensitive attributes.
//
// It does not implement the protocol of a real service, it encrypts nothing, and its schemas are
// subsets of the real ones. A program that works with it is complete and consistent, but may still
// fail on AWS.
package main
