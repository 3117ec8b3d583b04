int counter;
static inline __attribute__((always_inline)) int leaf(int x)
{
	return x * counter + 7;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	counter = x;
	return leaf(x) ^ 5;
}
int handle(int x)
{
	return middle(x + 1);
}
__attribute__((section(".text.other"))) int other(int x)
{
	return leaf(x) - 1;
}
int second(int x)
{
	return x + 2;
}
