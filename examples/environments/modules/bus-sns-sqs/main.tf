variable "name" {
  type        = string
  description = "The beginning of all names."
}

variable "domains" {
  type        = set(string)
  description = "The domains: each has a queue of its events."
}

resource "aws_sns_topic" "events" {
  name = "${var.name}-events"
}

resource "aws_sqs_queue" "dead" {
  name = "${var.name}-dead"
}

resource "aws_sqs_queue" "domain" {
  for_each       = var.domains
  name           = "${var.name}-${each.value}"
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn, maxReceiveCount = 5 })
}

resource "aws_sns_topic_subscription" "domain" {
  for_each  = var.domains
  topic_arn = aws_sns_topic.events.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.domain[each.value].arn
}

output "bus" {
  description = "The bus, for domains."
  value       = { type = "sns-sqs", uri = aws_sns_topic.events.arn }
}

output "queue_arns" {
  description = "The queues, by domain."
  value       = { for name, queue in aws_sqs_queue.domain : name => queue.arn }
}

output "provides" {
  description = "What domains can rely on."
  value       = { ordered = false, durable = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = []
}
